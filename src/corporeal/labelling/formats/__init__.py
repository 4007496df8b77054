"""Files of labels, one format each: functions to read and write, and what is lost."""
