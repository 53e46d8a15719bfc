# What numa_vm.sh expects of its machine, one line a check: "ok WHAT" or "FAIL WHAT". The node of a
# CPU or a GPU is known from how the machine was made, not from what the program says.
#
# In: $distances [[...]], $node_cpus, $packages, $threads: as told to qemu; $gpu_nodes [...]: as
# told to the program. $topo, $run: [document] of `contend info --json` and of the run's run.json.
# $maps: text, see numa_vm_init.sh.

# What does not compare, such as a missing key, is a failure like another.
def check(what; good): (if ([try good catch false] == [true]) then "ok   " else "FAIL " end) + what;

def check_equal(what; seen; $expected):
    (try seen catch null) as $seen
    | check("\(what): \($seen | tojson)"
          + if $seen == $expected then "" else ", expected \($expected | tojson)" end;
          $seen == $expected);

# "0-2,8" -> [0,1,2,8]
def cpus: split(",") | map(split("-") | map(tonumber) | range(.[0]; .[-1] + 1));

# "0-3" -> [0], the nodes of these CPUs
def nodes: cpus | map(. / $node_cpus | floor) | unique;

# The processes that the kernel showed with these CPUs and memory bound to this node.
def processes($cpus; $node):
    [$maps | splits("\n") | split(" ") | select(.[0] == $cpus and .[1] == $node)
        | {on: .[2] | tonumber, all: .[3] | tonumber}];

def topo_checks:
    ($distances | length) as $nodes
    | check_equal("topo, packages"; .packages; $packages),
      check_equal("topo, threads a core"; .threads_per_core; {min: $threads, max: $threads}),
      check_equal("topo, CPUs"; .cpus.count; $nodes * $node_cpus),
      check_equal("topo, cores"; .cores; $nodes * $node_cpus / $threads),
      check_equal("topo, last-level caches"; .llcs; $nodes),
      check_equal("topo, nodes"; [.nodes[].node]; [range($nodes)]),
      check_equal("topo, CPUs of each node"; [.nodes[].cpus | cpus];
          [range($nodes) | [range($node_cpus * .; $node_cpus * (. + 1))]]),
      check_equal("topo, distances"; .distances; $distances),
      check_equal("topo, nodes of the GPUs"; [.gpus[].node]; $gpu_nodes);

# Of one worker, planned and read back, that should have its memory on one node, and CPUs of so many.
def worker_checks($who; $policy; $cpu_nodes):
    .mem_nodes as $node
    | check("\($who): ran on CPUs \(.cpus_actual), nodes: \($cpu_nodes), as planned";
          .status == "ok" and .cpus_actual == .cpus and (.cpus | nodes | length) == $cpu_nodes),
      check("\($who): memory policy \(.mem_policy_actual) to node \(.mem_nodes_actual), as planned";
          .mem_policy_actual == $policy and .mem_nodes_actual == $node),
      check("\($who): pages of its buffer by node are \(.pages_on_node | tojson)";
          (.pages_on_node | keys) == [$node] and .pages_on_node[$node] > 0),
      if $policy != "bind" then empty else (processes(.cpus; $node) | max_by(.on) // {on: 0, all: 0}) as $process
      | check("\($who): kernel: \($process.on) of \($process.all) pages are on node \($node)";
          $process.all > 0 and $process.on == $process.all) end;

def places: map({cpus: (.cpus_actual | nodes[]), memory: (.mem_nodes_actual | tonumber), gpu});

def placement_checks($placement; what; good):
    (first(.arms[] | select(.placement == $placement)) // {}) as $arm
    | (.topology.gpus | map({key: .pci_bdf, value: .node}) | from_entries) as $gpu_node
    | [$arm.plan.workers[]? | . + $arm.observations[0].workers[.worker]
        | .gpu = $gpu_node[.gpu.pci_bdf]] as $workers
    | check("\($placement): \($workers | length) workers, status \($arm.observations[0].status)";
          ($workers | length) == 2 and ($arm.observations[0].status | IN("ok", "noisy"))),
      ($placement == "package-local") as $package
      | ($workers[] | worker_checks("\($placement), worker \(.worker)";
          if $package then "preferred" else "bind" end; if $package then 2 else 1 end)),
      ($workers | places) as $places
      | check("\($placement): \(what): \($places | tojson)"; $places | good);

($topo[0] | topo_checks),
($run[0]
    | check_equal("run, status"; .status; "complete"),
      placement_checks("numa"; "CPUs and memory of the same node, one node a worker";
          all(.cpus == .memory) and .[0].cpus != .[1].cpus),
      placement_checks("gpu-local"; "CPUs and memory of the node of the worker's own GPU";
          all(.cpus == .gpu and .memory == .gpu) and map(.gpu) == $gpu_nodes),
      placement_checks("package-local"; "CPUs of all nodes of the GPU's package, memory of its node";
          length == 4 and all(.memory == .gpu and (.cpus / 2 | floor) == (.gpu / 2 | floor))
          and ([.[].cpus] | sort) == [0, 1, 2, 3]),
      placement_checks("remote"; "memory and GPU of other nodes than the CPUs";
          all(.gpu != null and .cpus != .memory and .cpus != .gpu)))
