//! The engine `template`: provides what Score's provisioner files describe, as objects of the cluster.
