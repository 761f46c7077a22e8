"""The traffic of a run. Each of these parts has a home of its own:

- env/lab/guest/agent.py, in the guest: takes the command `run`, builds the network, and calls run() of this package;
- this package, in the guest: writes the flows as a line for the traffic program, and accounts for their bytes;
- flow/, the traffic program in C: opens and ends the connections, draws web traffic, and prints the samples at the end;
- kernel/lab/lab_flow.c, lab_sample.c and lab_record.c: send, receive and sample for the program, because in the lab
  kernel a system call costs more than a packet. In other kernels the program does this itself.
"""
