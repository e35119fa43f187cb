/**
 * Watches for the OpenSearch domain.
 * https://docs.aws.amazon.com/opensearch-service/latest/developerguide/managedomains-cloudwatchmetrics.html
 * https://docs.aws.amazon.com/opensearch-service/latest/developerguide/cloudwatch-alarms.html
 */
import { SHARD_GIGABYTES } from '../settings/domain-sizes.ts'
import { type DeployedNames, stageMetricOf, type Watch, type WatchedMetric } from './watch.ts'

type DeployedDomain = NonNullable<DeployedNames['domain']>

/** Alarm thresholds: JVM memory in use above 85 %, and free disk below a quarter, which OpenSearch needs to merge segments. */
const [FULL_MEMORY, FREE_DISK] = [85, 0.25]
const MB_OF_GB = 1_024

const BYTES_OF_GB = 1_024 ** 3

export function watchesOfDomain(domain: DeployedDomain): readonly Watch[] {
  const metricOf = (metricName: string, statistic: string): WatchedMetric => ({
    namespace: 'AWS/ES',
    metricName,
    statistic,
    dimensions: { DomainName: domain.name, ClientId: domain.account },
  })
  // The domain counts rejections since the start of a node. An average does not change if a minute or a node has no value.
  const growthOf = (metricName: string): WatchedMetric => ({ ...metricOf(metricName, 'Average'), expression: 'DIFF(m)' })
  return [
    {
      title: 'OpenSearch: CPU and memory, %',
      metrics: [metricOf('CPUUtilization', 'Maximum'), metricOf('JVMMemoryPressure', 'Maximum')],
    },
    {
      title: 'OpenSearch: red status, blocked writes',
      metrics: [metricOf('ClusterStatus.red', 'Maximum'), metricOf('ClusterIndexWritesBlocked', 'Maximum')],
      alarm: {
        name: 'SearchDomain',
        severity: 'page',
        above: 0,
        periods: 2,
        means: 'an index is red, or the disk is full',
        todo: 'Enlarge a full disk (setting search). If a shard of a red index does not return with its node, delete the index: the server rebuilds it',
      },
    },
    {
      title: 'OpenSearch: memory of the JVM, %',
      metrics: [metricOf('JVMMemoryPressure', 'Maximum')],
      alarm: {
        name: 'SearchMemory',
        severity: 'ticket',
        above: FULL_MEMORY,
        periods: 3,
        means: `the memory of a node is ${FULL_MEMORY} % full. A full node rejects searches and writes`,
        todo: 'Use larger nodes (setting search). Look for searches that need much memory, such as those with many includes',
      },
    },
    {
      title: 'OpenSearch: free disk, MB',
      metrics: [metricOf('FreeStorageSpace', 'Minimum')],
      alarm: {
        name: 'SearchDisk',
        severity: 'ticket',
        below: FREE_DISK * domain.disk * MB_OF_GB,
        means: `less than ${FREE_DISK * 100} % of the disk of a node is free. With a few GB left, the domain rejects writes`,
        todo: 'Use a larger disk (setting search). For a week after an upgrade it holds each index twice, unless keptIndexDays is 0',
      },
    },
    {
      title: 'OpenSearch: unusable key',
      metrics: [metricOf('KMSKeyError', 'Maximum'), metricOf('KMSKeyInaccessible', 'Maximum')],
      alarm: {
        name: 'SearchKey',
        severity: 'page',
        above: 0,
        means: 'the key of the stage is disabled, scheduled for deletion, or without a grant. Domain and tables stop',
        todo: 'Enable the key, cancel its deletion, or repair its policy. A domain is lost if its key was unusable for days. The server rebuilds all documents once a domain exists again',
      },
    },
    {
      title: 'OpenSearch: rejected searches and writes',
      metrics: [growthOf('ThreadpoolSearchRejected'), growthOf('ThreadpoolWriteRejected')],
      alarm: {
        name: 'SearchRejections',
        severity: 'ticket',
        above: 0,
        periods: 3,
        means: 'the domain has rejected searches or writes for a quarter of an hour, because its queues are full',
        todo: 'Use larger or more nodes (setting search). Look for slow searches in the request log, and for a rebuild with a large rebuildWidth. The indexer repeats rejected writes',
      },
    },
    ...(domain.nodes > 1 ? watchesOfCopies(domain.nodes + domain.masters, metricOf) : []),
  ]
}

/** Watches for a domain of several nodes, which hold copies of the shards. `nodes`: with masters, which the metric counts too. */
const watchesOfCopies = (nodes: number, metricOf: (metricName: string, statistic: string) => WatchedMetric): readonly Watch[] => [
  {
    title: 'OpenSearch: yellow status',
    // The status is also yellow for moments while a new index gets its copies. The minimum is 1 only if it stays yellow.
    metrics: [metricOf('ClusterStatus.yellow', 'Minimum')],
    alarm: {
      name: 'SearchYellow',
      severity: 'ticket',
      above: 0,
      periods: 3,
      means: 'a shard has had no copy for a quarter of an hour. If its node fails, searches of its type are 503 until a rebuild',
      todo: 'Look at SearchNodes and SearchDisk: OpenSearch places copies only on nodes with free disk. GET _cluster/allocation/explain gives the reason',
    },
  },
  {
    title: 'OpenSearch: nodes',
    metrics: [metricOf('Nodes', 'Maximum')],
    alarm: {
      name: 'SearchNodes',
      severity: 'ticket',
      below: nodes,
      periods: 3,
      means: `fewer than ${nodes} nodes have been in the domain for a quarter of an hour`,
      todo: 'AWS replaces a failed node by itself. If the node does not return within an hour, look at the health of the domain and open a case with AWS',
    },
  },
  {
    title: 'OpenSearch: failed automated snapshots',
    metrics: [metricOf('AutomatedSnapshotFailure', 'Maximum')],
    alarm: {
      name: 'SearchSnapshot',
      severity: 'info',
      above: 0,
      means: 'the domain could not write its hourly snapshot. The server needs none: it rebuilds documents from the table',
      todo: 'Look at SearchDomain: a red index is the usual cause. If the status is green and the failure lasts for days, open a case with AWS',
    },
  },
]

/** Returns the watch for the size of shards. A domain with a smaller disk cannot have such a shard. */
export const watchesOfShards = (stage: string, domain: DeployedDomain | undefined): readonly Watch[] =>
  domain !== undefined && domain.disk < SHARD_GIGABYTES
    ? []
    : [
        {
          title: 'OpenSearch: largest shard, bytes',
          metrics: [stageMetricOf(stage, 'LargestShard', 'Maximum')],
          alarm: {
            name: 'LargestShard',
            severity: 'info',
            above: SHARD_GIGABYTES * BYTES_OF_GB,
            means: `a shard has more than ${SHARD_GIGABYTES} GB. Searches of its type are slower, and it recovers slowly after the failure of a node`,
            todo: 'The log of the indexer names the index in `names` beside LargestShard. Set more shards for its type (setting search.shards), and deploy: the server builds a new index beside the old one',
          },
        },
      ]
