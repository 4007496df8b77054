"""ROS bags, messages and topics as streams; no ROS installation is needed."""
