"""Switches off gRPC's handlers around a fork, before pymilvus imports gRPC.

They log to standard error whenever a program is started while a call is open ("Other threads are currently calling into gRPC,
skipping fork() handlers"). The programs that Lightwell starts never use the connection.
"""

import os

os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")
