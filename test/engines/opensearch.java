// One OpenSearch node on loopback that ends with its process. Arguments: a folder for its data, the port it answers on.
import org.codelibs.opensearch.runner.OpenSearchRunner;

class OpenSearchNode {
  public static void main(String[] given) throws Exception {
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
      settings.put("http.port", Integer.parseInt(given[1]));
      settings.put("transport.port", 0);
      settings.put("discovery.type", "single-node");
      settings.put("cluster.routing.allocation.disk.threshold_enabled", false);
    });
    runner.build(OpenSearchRunner.newConfigs().basePath(given[0]).numOfNode(1).clusterName("fhir-test"));
    Thread.currentThread().join();
  }
}
