//! Where images come from. Names are completed as every runtime completes them: `nginx` is
//! `docker.io/library/nginx`.

/// The registry of names without a host.
const DOCKER_HUB: &str = "docker.io";
/// Its other name.
const DOCKER_INDEX: &str = "index.docker.io";
/// Where it keeps images without a user.
const LIBRARY: &str = "library";

/// Whether an image is in a registry, or in a part of one. Whole parts of the path count: `example.org/shop` has
/// `example.org/shop/web:1`, and not `example.org/shopping/web`. A name that no runtime would take is in none.
pub(super) fn is_from(image: &str, registry: &str) -> bool {
    let (Some((image_host, image_path)), Some((host, path))) = (complete(image), place(registry)) else {
        return false;
    };
    image_host == host && image_path.len() >= path.len() && image_path.iter().zip(&path).all(|(a, b)| a == b)
}

/// Why a text is no registry, and what to write instead.
pub(super) fn fault_of(registry: &str) -> Option<&'static str> {
    if registry.contains("://") {
        return Some("has a scheme: leave it out, as in `registry.example.org/shop`");
    }
    if registry.contains('*') {
        return Some("has a `*`: leave it out, since everything below a path is meant");
    }
    if let Some((_, path)) = registry.split_once('/')
        && path.contains([':', '@'])
    {
        return Some("has a version: leave it out, since every version is meant");
    }
    if !is_host(registry.split('/').next().unwrap_or_default()) {
        return Some(
            "begins with no host: write one before it, such as `docker.io/` or `registry.example.org/`",
        );
    }
    place(registry)
        .is_none()
        .then_some("is no registry: write a host and a path, such as `registry.example.org/shop`")
}

/// The host and the path of an image, without its version.
fn complete(image: &str) -> Option<(String, Vec<&str>)> {
    let (name, digest) = image.split_once('@').unwrap_or((image, ""));
    let last = name.rfind('/').map_or(0, |slash| slash + 1);
    let name = name[last..].find(':').map_or(name, |colon| &name[..last + colon]);
    if digest.contains('/') {
        return None;
    }
    let (host, path) = match name.split_once('/') {
        Some((first, rest)) if is_host(first) => (canonical(first), rest),
        _ => (DOCKER_HUB.to_owned(), name),
    };
    let mut path = parts(path)?;
    if host == DOCKER_HUB && path.len() == 1 {
        path.insert(0, LIBRARY);
    }
    Some((host, path))
}

/// The host and the path of a registry.
fn place(registry: &str) -> Option<(String, Vec<&str>)> {
    match registry.trim_end_matches('/').split_once('/') {
        Some((host, path)) => Some((canonical(host), parts(path)?)),
        None => Some((canonical(registry.trim_end_matches('/')), Vec::new())),
    }
}

/// What tells a host from a user: a dot, a port, capital letters, or the one name that is a host without them.
fn is_host(text: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b':' | b'[' | b']');
    text.bytes().all(plain)
        && (text.contains(['.', ':']) || text == "localhost" || text.bytes().any(|b| b.is_ascii_uppercase()))
}

fn canonical(host: &str) -> String {
    let host = host.to_ascii_lowercase();
    if host == DOCKER_INDEX { DOCKER_HUB.to_owned() } else { host }
}

fn parts(path: &str) -> Option<Vec<&str>> {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_');
    let is_part = |part: &str| !matches!(part, "" | "." | "..") && part.bytes().all(plain);
    path.split('/').map(|part| is_part(part).then_some(part)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_completed_as_runtimes_do() {
        for (image, want) in [
            ("nginx", "docker.io/library/nginx"),
            ("nginx:1.27", "docker.io/library/nginx"),
            ("nginx@sha256:abc", "docker.io/library/nginx"),
            ("nginx:1.27@sha256:abc", "docker.io/library/nginx"),
            ("user/app", "docker.io/user/app"),
            ("user/app/deep:1", "docker.io/user/app/deep"),
            ("docker.io/nginx", "docker.io/library/nginx"),
            ("index.docker.io/user/app", "docker.io/user/app"),
            ("localhost/app", "localhost/app"),
            ("localhost:5000/app:1", "localhost:5000/app"),
            ("localhost:5000", "docker.io/library/localhost"),
            ("registry:5000/app", "registry:5000/app"),
            ("Registry.Example.org/shop/web:1", "registry.example.org/shop/web"),
            ("[::1]:5000/app", "[::1]:5000/app"),
        ] {
            let (host, path) = complete(image).unwrap();
            assert_eq!(format!("{host}/{}", path.join("/")), want, "{image}");
        }
        for image in ["", "example.org/a/../b", "example.org//b", "example.org/a b", "example.org/a@x/y"] {
            assert_eq!(complete(image), None, "{image}");
        }
    }

    #[test]
    fn whole_parts_of_the_path_count() {
        for (image, registry, want) in [
            ("registry.example.org/shop/web:1", "registry.example.org/shop", true),
            ("registry.example.org/shop/web:1", "registry.example.org/shop/", true),
            ("registry.example.org/shop/web:1", "registry.example.org", true),
            ("registry.example.org/shop/web:1", "registry.example.org/shop/web", true),
            ("registry.example.org/shop:1", "registry.example.org/shop/web", false),
            ("registry.example.org/shopping/x", "registry.example.org/shop", false),
            ("registry.example.org.evil.io/shop/x", "registry.example.org", false),
            ("registry.example.org:5000/shop/x", "registry.example.org", false),
            ("registry.example.org/shop/../evil", "registry.example.org/shop", false),
            ("nginx", "docker.io", true),
            ("nginx", "docker.io/library", true),
            ("nginx", "index.docker.io/library/nginx", true),
            ("user/app", "docker.io/library", false),
            ("nginx", "registry.example.org", false),
        ] {
            assert_eq!(is_from(image, registry), want, "{image} from {registry}");
        }
    }

    #[test]
    fn what_can_never_be_a_registry_has_a_remedy() {
        for registry in
            ["", "https://example.org", "example.org/*", "example.org/a:1", "shop", "example.org//a", "a b.c"]
        {
            assert!(fault_of(registry).is_some(), "{registry}");
        }
        for registry in
            ["example.org", "example.org/", "example.org/a/b", "localhost:5000", "localhost/a", "[::1]:5000"]
        {
            assert_eq!(fault_of(registry), None, "{registry}");
        }
    }
}
