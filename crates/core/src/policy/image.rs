//! Registries of images. Names are completed as in every runtime: `nginx` is `docker.io/library/nginx`.

/// Registry of names without a host.
const DOCKER_HUB: &str = "docker.io";
/// Alias of Docker Hub.
const DOCKER_INDEX: &str = "index.docker.io";
/// Path of images without a user on Docker Hub.
const LIBRARY: &str = "library";

/// True if an image is in a registry, or below a path of one. Whole path segments count: `example.org/shop` contains
/// `example.org/shop/web:1`, but not `example.org/shopping/web`. An invalid name is in no registry.
pub(super) fn is_from(image: &str, registry: &str) -> bool {
    let (Some((image_host, image_path)), Some((host, path))) = (complete(image), location(registry)) else {
        return false;
    };
    image_host == host && image_path.len() >= path.len() && image_path.iter().zip(&path).all(|(a, b)| a == b)
}

/// Fault of an invalid registry, with the remedy.
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
        return Some("has no host: put one in front, such as `docker.io/` or `registry.example.org/`");
    }
    location(registry)
        .is_none()
        .then_some("is not a registry: write a host and a path, such as `registry.example.org/shop`")
}

/// Host and path of an image, without its tag and digest.
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

/// Host and path of a registry.
fn location(registry: &str) -> Option<(String, Vec<&str>)> {
    match registry.trim_end_matches('/').split_once('/') {
        Some((host, path)) => Some((canonical(host), parts(path)?)),
        None => Some((canonical(registry.trim_end_matches('/')), Vec::new())),
    }
}

/// True for a host, not a user: it has a dot, a port or capital letters, or is `localhost`.
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
    fn image_names_are_completed_as_in_runtimes() {
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
    fn whole_path_segments_are_compared() {
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
    fn an_invalid_registry_has_a_remedy() {
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
