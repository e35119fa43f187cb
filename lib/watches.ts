/** What can go wrong with a deployment, as CloudWatch sees it, and what then is to be done. */

export type Watched = {
  readonly namespace: string
  readonly metricName: string
  readonly statistic: string
  readonly label?: string | undefined
  readonly dimensions?: Readonly<Record<string, string>>
}

export type Watch = {
  readonly title: string
  readonly metrics: readonly Watched[]
  /** One for each metric. `periods` of five minutes each. */
  readonly alarm?: {
    readonly name: string
    readonly above: number
    readonly periods?: number
    readonly means: string
    readonly todo: string
  }
}

/** Names of what is deployed. */
export type Deployed = {
  readonly stage: string
  readonly api: { readonly name: string; readonly stage: string }
  readonly table: string
  /** Function → its name. */
  readonly followers: Readonly<Record<string, string>>
  /** Function → the id of its event source mapping. */
  readonly mappings: Readonly<Record<string, string>>
  /** ARN of the state machine. */
  readonly rebuild: string
  /** ARN of theirs, and the names of the functions that take up what was left, and begin those of schedules. */
  readonly exports: { readonly machine: string; readonly sweeper: string; readonly starter?: string }
  readonly domain?: { readonly name: string; readonly account: string }
  /** Where it gives tokens: the name of the function that tends the keys. */
  readonly tokens?: { readonly tender: string }
}

export function watchesOf({ stage, api, table, followers, mappings, rebuild, exports, domain, tokens }: Deployed): readonly Watch[] {
  const ofApi = (metricName: string, statistic: string): Watched => ({
    namespace: 'AWS/ApiGateway',
    metricName,
    statistic,
    dimensions: { ApiName: api.name, Stage: api.stage },
  })
  const ofEach = (names: Readonly<Record<string, string>>, dimension: string, metricName: string, statistic: string): readonly Watched[] =>
    Object.entries(names).map(([label, name]) => ({
      namespace: 'AWS/Lambda',
      metricName,
      statistic,
      label: `${label}: ${metricName}`,
      dimensions: { [dimension]: name },
    }))
  const ofTable = (metricName: string): Watched => ({
    namespace: 'AWS/DynamoDB',
    metricName,
    statistic: 'Sum',
    dimensions: { TableName: table },
  })
  return [
    { title: 'Requests', metrics: [ofApi('Count', 'Sum'), ofApi('4XXError', 'Sum')] },
    {
      title: 'Server errors, share of requests',
      metrics: [ofApi('5XXError', 'Average')],
      alarm: {
        name: 'ServerErrors',
        above: 0.01,
        periods: 3,
        means: 'more than 1 % of requests fail',
        todo: 'Look at `error` in the access log and for level "error" in the logs of the functions it names; throttles and OpenSearch have alarms of their own',
      },
    },
    {
      title: 'Latency, ms',
      metrics: [ofApi('Latency', 'p99')],
      alarm: {
        name: 'Latency',
        above: 3_000,
        periods: 3,
        means: 'one request of a hundred takes more than 3 s',
        todo: 'Group the access log by route: cold starts are everywhere, slow searches at theirs. For searches look at CPU and memory of OpenSearch',
      },
    },
    {
      title: 'Index lag, ms',
      metrics: [{ namespace: 'FHIR', metricName: 'IndexLag', statistic: 'p95', dimensions: { Stage: stage } }],
      alarm: {
        name: 'IndexLag',
        above: 60_000,
        periods: 3,
        means: 'writes are searchable only after more than a minute',
        todo: 'Nothing is lost. If OpenSearch refuses or is slow, enlarge it; if it is idle, raise parallelizationFactor',
      },
    },
    {
      title: 'Age of the stream, ms',
      metrics: ofEach(followers, 'FunctionName', 'IteratorAge', 'Maximum'),
      alarm: {
        name: 'IteratorAge',
        above: 600_000,
        periods: 2,
        means: 'a function that follows the stream is ten minutes behind',
        todo: 'Look at its log: it repeats what fails until it is 20 hours old. Mend the cause before, then it goes on by itself',
      },
    },
    {
      title: 'Errors of functions that follow the stream',
      metrics: ofEach(followers, 'FunctionName', 'Errors', 'Sum'),
      alarm: {
        name: 'FollowerErrors',
        above: 0,
        periods: 3,
        means: 'a function that follows the stream fails again and again',
        todo: 'Look at its log; the stream is kept for 24 hours',
      },
    },
    {
      title: 'Records put aside',
      metrics: ofEach(mappings, 'EventSourceMappingUUID', 'OnFailureDestinationDeliveredEventCount', 'Sum'),
      alarm: {
        name: 'PutAside',
        above: 0,
        means: 'records could not be taken for 20 hours and were written to aws/lambda/ in the bucket',
        todo: 'Mend the cause, then POST $reindex for the types in them; the resources themselves are all in the table',
      },
    },
    {
      title: 'Records dropped',
      metrics: ofEach(mappings, 'EventSourceMappingUUID', 'DroppedEventCount', 'Sum'),
      alarm: {
        name: 'Dropped',
        above: 0,
        means: 'records were given up and not even put aside',
        todo: 'POST $reindex without a type once the cause is mended; check what the role of the function may do in the bucket',
      },
    },
    {
      title: 'Throttled functions of the account',
      metrics: [{ namespace: 'AWS/Lambda', metricName: 'Throttles', statistic: 'Sum' }],
      alarm: {
        name: 'FunctionThrottles',
        above: 0,
        periods: 3,
        means: 'Lambda refuses calls for want of concurrency',
        todo: 'Ask for more concurrency (Service Quotas), or reserve some for the functions that need it (setting concurrency)',
      },
    },
    {
      title: 'Throttled reads and writes of the table',
      metrics: [ofTable('ReadThrottleEvents'), ofTable('WriteThrottleEvents')],
      alarm: {
        name: 'TableThrottles',
        above: 0,
        periods: 3,
        means: 'DynamoDB refuses reads or writes; functions repeat them for two seconds',
        todo: 'A sudden load: raise capacity.warm before the next. A lasting one: check capacity.most, then whether one resource is written all the time',
      },
    },
    {
      title: 'Rebuilds that failed',
      metrics: [{ namespace: 'AWS/States', metricName: 'ExecutionsFailed', statistic: 'Sum', dimensions: { StateMachineArn: rebuild } }],
      alarm: {
        name: 'RebuildFailed',
        above: 0,
        means: 'documents could not be made again; the old index goes on answering',
        todo: 'Look at the failed execution and the log of rebuild-step. It is started again within the hour; POST $reindex starts it at once',
      },
    },
    ...watchesOfExports(stage, exports),
    ...(exports.starter === undefined ? [] : watchesOfSchedules(stage, exports.starter)),
    ...(domain === undefined ? [] : watchesOfDomain(domain)),
    ...(tokens === undefined ? [] : watchesOfTokens(api, tokens)),
  ]
}

function watchesOfExports(stage: string, { machine, sweeper }: Deployed['exports']): readonly Watch[] {
  const ofMachine = (metricName: string): Watched => ({
    namespace: 'AWS/States',
    metricName,
    statistic: 'Sum',
    dimensions: { StateMachineArn: machine },
  })
  return [
    { title: 'Exports', metrics: [ofMachine('ExecutionsStarted'), ofMachine('ExecutionsSucceeded')] },
    {
      title: 'Exports that failed',
      metrics: [ofMachine('ExecutionsFailed')],
      alarm: {
        name: 'ExportFailed',
        above: 0,
        means:
          'an export was given up after half an hour of attempts or more, or because a step of it has too little memory or time each time; its client is told so, and its files are removed',
        todo: 'Look at the failed execution and the log of export-step. Once the cause is mended the client asks for it again',
      },
    },
    {
      title: 'Age of the oldest export under way, ms',
      metrics: [{ namespace: 'FHIR', metricName: 'ExportAge', statistic: 'Maximum', dimensions: { Stage: stage } }],
      alarm: {
        name: 'ExportAge',
        above: 43_200_000,
        means: 'an export is under way for twelve hours',
        todo: 'Its X-Progress tells whether it goes on. Look at the log of export-step and at TableThrottles; more writers: concurrency of export-step',
      },
    },
    {
      title: 'Exports nobody looks after',
      metrics: [{ namespace: 'AWS/Lambda', metricName: 'Errors', statistic: 'Sum', dimensions: { FunctionName: sweeper } }],
      alarm: {
        name: 'ExportSweep',
        above: 0,
        periods: 3,
        means: 'exports that lost their execution are not begun again, files that expired are not removed',
        todo: 'Look at the log of export-sweep; nothing is lost, and the bucket removes old files by itself',
      },
    },
  ]
}

function watchesOfSchedules(stage: string, starter: string): readonly Watch[] {
  const told = (metricName: string): Watched => ({ namespace: 'FHIR', metricName, statistic: 'Maximum', dimensions: { Stage: stage } })
  const errors: Watched = { namespace: 'AWS/Lambda', metricName: 'Errors', statistic: 'Sum', dimensions: { FunctionName: starter } }
  return [
    {
      title: 'Scheduled exports that failed',
      metrics: [told('ScheduledExportsFailed'), errors],
      alarm: {
        name: 'ScheduledExportFailed',
        above: 0,
        means: 'the last run of a scheduled export failed, or could not be begun, or its files cannot be copied',
        todo: 'The log of export-sweep names it; that of export-schedule says why it was not begun, that of export-step why it failed, that of export-sweep why files are not copied, which is tried every minute. The next run goes on from the last that was complete',
      },
    },
    {
      title: 'Scheduled exports that are late',
      metrics: [told('ScheduledExportsLate')],
      alarm: {
        name: 'ScheduledExportLate',
        above: 0,
        means: 'a scheduled export has not been complete for twice its interval, or the hours its setting late says',
        todo: 'The log of export-sweep names it. Look at ExportAge, and whether its rule calls export-schedule',
      },
    },
  ]
}

function watchesOfTokens(api: Deployed['api'], { tender }: NonNullable<Deployed['tokens']>): readonly Watch[] {
  const dimensions = { ApiName: api.name, Resource: '/auth/token', Method: 'POST', Stage: api.stage }
  return [
    {
      title: 'Tokens that could not be given',
      metrics: [{ namespace: 'AWS/ApiGateway', metricName: '5XXError', statistic: 'Sum', dimensions }],
      alarm: {
        name: 'TokenErrors',
        above: 0,
        periods: 2,
        means: 'clients that may have tokens get none',
        todo: 'Look at the log of the function token: KMS or the table of state refuses it. Tokens that were given go on counting',
      },
    },
    {
      title: 'Signing keys that were not tended',
      metrics: [{ namespace: 'AWS/Lambda', metricName: 'Errors', statistic: 'Sum', dimensions: { FunctionName: tender } }],
      alarm: {
        name: 'SigningKeys',
        above: 0,
        means: 'signing keys could not be made or removed',
        todo: 'Look at the log of tend-keys; tokens are signed with the keys there are. The list of them is the item SIGNING_KEYS of the table of state',
      },
    },
  ]
}

function watchesOfDomain({ name, account }: NonNullable<Deployed['domain']>): readonly Watch[] {
  const ofDomain = (metricName: string, statistic: string): Watched => ({
    namespace: 'AWS/ES',
    metricName,
    statistic,
    dimensions: { DomainName: name, ClientId: account },
  })
  return [
    { title: 'OpenSearch: CPU and memory, %', metrics: [ofDomain('CPUUtilization', 'Maximum'), ofDomain('JVMMemoryPressure', 'Maximum')] },
    {
      title: 'OpenSearch: red, or refusing writes',
      metrics: [ofDomain('ClusterStatus.red', 'Maximum'), ofDomain('ClusterIndexWritesBlocked', 'Maximum')],
      alarm: {
        name: 'SearchDomain',
        above: 0,
        periods: 2,
        means: 'an index is not there, or the disk is full',
        todo: 'Enlarge the disk or the nodes (setting search). If an index is lost, POST $reindex for its type makes it again from the table',
      },
    },
  ]
}
