/** A deployment run by this process instead of the stand-in: its functions, its gateway, and what follows its stream. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { AwsCalls } from './aws-calls.ts'
import { invokeCustomResource } from './custom-resource.ts'
import type { Deployment } from './deploy.ts'
import { SLOWDOWN_FACTOR } from './function-host.ts'
import { GATEWAY_TIMEOUT_MS, startGateway } from './gateway.ts'
import { type HostedDeployment, hostDeployment } from './hosted-deployment.ts'
import { type DiscardedBatch, pump, streamReader } from './pump.ts'
import { type Recorder, startRecorder } from './recorder.ts'

/** What would call the functions where they are deployed. */
export const INVOKER_TYPES = [
  ...['AWS::Lambda::EventSourceMapping', 'AWS::Events::Rule', 'AWS::Scheduler::Schedule'],
  ...['Custom::FhirMigration', 'Custom::FhirSigningKeys', 'Custom::FhirLinkKey'],
]

export type LocalDeployment = {
  /** Of the stage. */
  readonly url: string
  readonly hosted: HostedDeployment
  readonly recorder: Recorder
  /** What no function took. */
  readonly discarded: readonly DiscardedBatch[]
  readonly close: () => Promise<void>
}

/** ms between two looks at a stream that is at its end. */
const PAUSE = 10
/** ms between two looks at the indices, as of the rule of the stage. */
const MINUTE = 60_000

export type LocalDeploymentOptions = {
  readonly aws: AwsCalls
  readonly assembly: string
  readonly deployment: Deployment
  readonly searchEndpoint: string
  /** Whether the stream is followed, and the indices looked after. */
  readonly follows: boolean
}

export async function startLocalDeployment({
  aws,
  assembly,
  deployment,
  searchEndpoint,
  follows,
}: LocalDeploymentOptions): Promise<LocalDeployment> {
  const recorder = await startRecorder(aws.endpoint, searchEndpoint)
  const hosted = await hostDeployment(aws, assembly, deployment, { aws: recorder.awsEndpoint, search: recorder.searchEndpoint })
  const gateway = await startGateway({
    api: hosted.api,
    firewall: hosted.firewall,
    invoke: hosted.invoke,
    stage: 'fhir',
    timeout: GATEWAY_TIMEOUT_MS * SLOWDOWN_FACTOR,
  })
  for (const name of ['migrate', 'tend-keys']) await invokeCustomResource((event) => hosted.host.invoke(name, event), 'Create')
  const discarded: DiscardedBatch[] = []
  const closing = new AbortController()
  let isClosed = false
  const tending = (async () => {
    while (follows && !isClosed) {
      await hosted.host.invoke('indexer', { sweep: 'index' })
      await sleep(MINUTE, undefined, { signal: closing.signal }).catch(() => undefined)
    }
  })()
  const following = Promise.all(
    Object.entries(follows ? hosted.streams : {}).map(async ([name, { arn, mapping }]) => {
      const read = streamReader(aws, arn)
      const { drain } = pump({
        mapping,
        read,
        invoke: (event) => hosted.host.invoke(name, event),
        onDiscarded: (each) => discarded.push(each),
        isStopped: () => isClosed,
      })
      while (!isClosed) {
        await drain().catch((error: Error) => {
          if (!isClosed) throw error
        })
        await sleep(PAUSE)
      }
    }),
  )
  // What breaks it is told by who closes.
  following.catch(() => undefined)
  return {
    url: gateway.url,
    hosted,
    recorder,
    discarded,
    async close() {
      isClosed = true
      closing.abort()
      await tending
      await gateway.close()
      await hosted.host.close()
      await recorder.close()
      await following
    },
  }
}
