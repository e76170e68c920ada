//! Owner of a port: the process of this user that listens on it, from `/proc`.

use std::fs;

use super::identity;

/// State of a listening socket in `/proc/net/tcp`.
const LISTEN: &str = "0A";

/// Name and process id of the program that listens on a TCP port: `` `node` (pid 123) ``. `None` if it belongs to another
/// user, whose sockets cannot be read.
pub(super) fn find(port: u16) -> Option<String> {
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"].map(|path| fs::read_to_string(path).unwrap_or_default());
    let inodes: Vec<_> = tables.iter().flat_map(|table| listeners(table, port)).collect();
    let sockets: Vec<_> = inodes.iter().map(|inode| format!("socket:[{inode}]")).collect();
    let has_socket = |pid: &i32| {
        let mut descriptors = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
        descriptors.any(|entry| {
            fs::read_link(entry.path())
                .is_ok_and(|target| sockets.iter().any(|socket| target.as_os_str() == socket.as_str()))
        })
    };
    let pid = identity::processes().ok()?.into_iter().find(has_socket)?;
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
    Some(format!("`{}` (pid {pid})", name.trim()))
}

/// Inodes of the sockets in a table that listen on a port.
fn listeners(table: &str, port: u16) -> impl Iterator<Item = &str> {
    let suffix = format!(":{port:04X}");
    table.lines().skip(1).filter_map(move |line| {
        let fields: Vec<_> = line.split_ascii_whitespace().collect();
        let is_listener = fields.get(1)?.ends_with(&suffix) && *fields.get(3)? == LISTEN;
        fields.get(9).copied().filter(|_| is_listener)
    })
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn the_owner_of_a_port_is_named_with_its_process_id() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let owner = find(listener.local_addr().unwrap().port()).unwrap();
        assert!(owner.ends_with(&format!("(pid {})", std::process::id())), "{owner}");
    }

    #[test]
    fn only_listening_sockets_of_the_port_count() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
               0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 11 1 0\n\
               1: 0100007F:1F90 0100007F:1F91 01 00000000:00000000 00:00000000 00000000     0        0 12 1 0\n\
               2: 0100007F:1F91 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 13 1 0\n";
        assert_eq!(listeners(table, 8080).collect::<Vec<_>>(), ["11"]);
    }
}
