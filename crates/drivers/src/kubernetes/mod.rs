//! The runtime `kubernetes`: plans as objects of the cluster whose API the platform itself uses.
