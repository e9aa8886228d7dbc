"""API priority and fairness: each request waits for its turn in a priority level, fairly among its users.

Upstream's design: a flow schema assigns a request to a priority level; a level has *seats* and queues, and
lends seats to others. What differs here is what a seat means. kube-apiserver has 600, because its requests
run on all cores and mostly wait for etcd. Here requests run on one event loop, one after the other, and large
ones in few workers beside it. So:

* **245 seats**, one for each share of the default levels: enough for requests that wait, for a commit, a
  webhook or a worker, and few enough that what waits does so in memory that is bounded and in fair queues.
* **A turn of the event loop starts at most 32 requests of a level**, a few milliseconds of work. A request
  that never waits is gone before another one could compete with it; without this limit a user with a hundred
  connections would get a hundred times the service of a user with one. Those of the next turn are chosen
  fairly. For the same reason rejections are held back while there are many of them: answering them costs the
  loop as much as serving.
* **Wide requests.** A body takes seats by its size (or by the size of the object that it changes), a LIST by
  the bytes that it reads; the widest take a quarter of their level's seats, and wide requests together at
  most half of them. So of one abuser's 64 connections with patches of 20,000 keys two are in work at once
  and the others wait in the abuser's queues, while a light request finds a seat at once. The limits are
  relative to the seats of a level, because the loop and the workers stay the same when a level borrows.
* **Brief requests**, those of one seat that find one free while nothing waits, are not accounted for one by
  one: where nothing competes, nothing has to be fair, and a GET costs a microsecond more.

Components in this process call the registry directly, and pass by. Those in other processes have levels of
their own: ``system``, ``node-high``, ``leader-election`` and ``workload-high``. Health checks and
administrators (``system:masters``) are exempt. Streams (logs, exec, attach, port-forward, proxy) take no
seats, a watch takes them only until it has begun. Without flow schemas, as in a server that has just begun,
two fixed limits of requests in flight hold.
"""
