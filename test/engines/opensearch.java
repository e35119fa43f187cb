// An OpenSearch cluster on loopback that ends with its process. Arguments: a folder for its data, the port of its first node, its number of nodes.
import java.net.InetAddress;
import java.net.ServerSocket;
import org.codelibs.opensearch.runner.OpenSearchRunner;

class OpenSearchCluster {
  public static void main(String[] given) throws Exception {
    var nodes = Integer.parseInt(given[2]);
    var transport = freePort();
    var runner = new OpenSearchRunner();
    Runtime.getRuntime().addShutdownHook(new Thread(() -> {
      try {
        runner.close();
      } catch (Exception ended) {
        // The process ends anyway.
      }
    }));
    // Without it the runner takes another port when this one is taken.
    runner.setMaxHttpPort(-1);
    runner.onBuild((number, settings) -> {
      settings.put("network.host", "127.0.0.1");
      settings.put("http.port", number == 1 ? Integer.parseInt(given[1]) : 0);
      settings.put("transport.port", number == 1 ? transport : 0);
      settings.put("cluster.routing.allocation.disk.threshold_enabled", false);
      if (nodes == 1) {
        settings.put("discovery.type", "single-node");
        return;
      }
      settings.put("node.name", "node-" + number);
      settings.put("discovery.seed_hosts", "127.0.0.1:" + transport);
      settings.put("cluster.initial_cluster_manager_nodes", "node-1");
    });
    runner.build(OpenSearchRunner.newConfigs().basePath(given[0]).numOfNode(nodes).clusterName("fhir-test"));
    Thread.currentThread().join();
  }

  private static int freePort() throws Exception {
    try (var socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      return socket.getLocalPort();
    }
  }
}
