/** A deployment run by this process instead of the stand-in: its functions, its gateway, and what follows its stream. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { AwsCalls } from './aws-calls.ts'
import { asCustomResource } from './custom-resource.ts'
import type { Deployment } from './deploy.ts'
import { SLOWER } from './function-host.ts'
import { startGateway, TIMEOUT } from './gateway.ts'
import { type Hosted, hosted } from './hosted.ts'
import { type Discarded, pump, streamReader } from './pump.ts'
import { type Recorder, startRecorder } from './recorder.ts'

/** What would call the functions where they are deployed. */
export const CALLERS = [
  ...['AWS::Lambda::EventSourceMapping', 'AWS::Events::Rule', 'AWS::Scheduler::Schedule'],
  ...['Custom::FhirMigration', 'Custom::FhirSigningKeys', 'Custom::FhirLinkKey'],
]

export type Here = {
  /** Of the stage. */
  readonly url: string
  readonly hosted: Hosted
  readonly recorder: Recorder
  /** What no function took. */
  readonly discarded: readonly Discarded[]
  readonly close: () => Promise<void>
}

/** ms between two looks at a stream that is at its end. */
const PAUSE = 10
/** ms between two looks at the indices, as of the rule of the stage. */
const MINUTE = 60_000

export type HereOptions = {
  readonly aws: AwsCalls
  readonly assembly: string
  readonly deployment: Deployment
  readonly searchEndpoint: string
  /** Whether the stream is followed, and the indices looked after. */
  readonly follows: boolean
}

export async function startHere({ aws, assembly, deployment, searchEndpoint, follows }: HereOptions): Promise<Here> {
  const recorder = await startRecorder(aws.endpoint, searchEndpoint)
  const home = await hosted(aws, assembly, deployment, { aws: recorder.awsEndpoint, search: recorder.searchEndpoint })
  const gateway = await startGateway({
    api: home.api,
    firewall: home.firewall,
    invoke: home.invoke,
    stage: 'fhir',
    timeout: TIMEOUT * SLOWER,
  })
  for (const name of ['migrate', 'tend-keys']) await asCustomResource((event) => home.host.invoke(name, event), 'Create')
  const discarded: Discarded[] = []
  const closing = new AbortController()
  let isClosed = false
  const tending = (async () => {
    while (follows && !isClosed) {
      await home.host.invoke('indexer', { sweep: 'index' })
      await sleep(MINUTE, undefined, { signal: closing.signal }).catch(() => undefined)
    }
  })()
  const following = Promise.all(
    Object.entries(follows ? home.streams : {}).map(async ([name, { arn, mapping }]) => {
      const read = streamReader(aws, arn)
      const { drain } = pump({
        mapping,
        read,
        invoke: (event) => home.host.invoke(name, event),
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
    hosted: home,
    recorder,
    discarded,
    async close() {
      isClosed = true
      closing.abort()
      await tending
      await gateway.close()
      await home.host.close()
      await recorder.close()
      await following
    },
  }
}
