/**
 * Watches for the OpenSearch domain.
 * https://docs.aws.amazon.com/opensearch-service/latest/developerguide/cloudwatch-alarms.html
 */
import type { DeployedNames, Watch, WatchedMetric } from './watch.ts'

/** Alarm thresholds: JVM memory in use above 85 %, and free disk below a quarter, which OpenSearch needs to merge segments. */
const [FULL_MEMORY, FREE_DISK] = [85, 0.25]
const MB_OF_GB = 1_024

export function watchesOfDomain({ name, account, disk }: NonNullable<DeployedNames['domain']>): readonly Watch[] {
  const domainMetric = (metricName: string, statistic: string): WatchedMetric => ({
    namespace: 'AWS/ES',
    metricName,
    statistic,
    dimensions: { DomainName: name, ClientId: account },
  })
  return [
    {
      title: 'OpenSearch: CPU and memory, %',
      metrics: [domainMetric('CPUUtilization', 'Maximum'), domainMetric('JVMMemoryPressure', 'Maximum')],
    },
    {
      title: 'OpenSearch: red, or refusing writes',
      metrics: [domainMetric('ClusterStatus.red', 'Maximum'), domainMetric('ClusterIndexWritesBlocked', 'Maximum')],
      alarm: {
        name: 'SearchDomain',
        above: 0,
        periods: 2,
        means: 'an index is not there, or the disk is full',
        todo: 'Enlarge the disk or the nodes (setting search). An index that is lost is made again from the table by itself: IndexLost, $reindex-status',
      },
    },
    {
      title: 'OpenSearch: memory of the JVM, %',
      metrics: [domainMetric('JVMMemoryPressure', 'Maximum')],
      alarm: {
        name: 'SearchMemory',
        above: FULL_MEMORY,
        periods: 3,
        means: `the memory of a node is more than ${FULL_MEMORY} % full: soon it refuses searches and writes`,
        todo: 'Larger nodes (setting search); look for searches that gather much, as those with many includes',
      },
    },
    {
      title: 'OpenSearch: free disk, MB',
      metrics: [domainMetric('FreeStorageSpace', 'Minimum')],
      alarm: {
        name: 'SearchDisk',
        below: FREE_DISK * disk * MB_OF_GB,
        means: `less than ${FREE_DISK * 100} % of the disk of a node are free: below a few GB the domain refuses writes`,
        todo: 'A larger disk (setting search), before the domain is read-only',
      },
    },
    {
      title: 'OpenSearch: key that cannot be used',
      metrics: [domainMetric('KMSKeyError', 'Maximum'), domainMetric('KMSKeyInaccessible', 'Maximum')],
      alarm: {
        name: 'SearchKey',
        above: 0,
        means: 'the key of the stage is disabled, is going to be deleted, or no grant is left: the domain stops, and so do the tables',
        todo: 'Enable the key, cancel its deletion, or look at its policy. A domain whose key was inaccessible for days is lost; what it held is made again from the table by itself, once there is one again',
      },
    },
  ]
}
