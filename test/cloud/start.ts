/** The cloud on one machine, to play with: node test/cloud/start.ts [PORT]. Ctrl-C ends everything it started. */
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { OPEN_ACCESS, synthesizerIn } from './assembly.ts'
import { startCloud } from './cloud.ts'
import { stopOnSignal } from './stop-signal.ts'

const port = Number(process.argv[2] ?? 8080)
const folder = mkdtempSync(join(tmpdir(), 'fhir-cloud-'))
const stopped = stopOnSignal()

try {
  const report = (line: string) => console.log(line)
  const cloud = await startCloud({
    ...{ port, report, stopped },
    synthesize: synthesizerIn(folder),
  })
  try {
    await cloud.fresh({ settings: OPEN_ACCESS })
    console.log(`\nThe stacks are deployed:
  FHIR server   ${cloud.baseUrl}
  AWS           ${cloud.aws.endpoint}   (MiniStack, credentials test and test, region us-east-1)
  OpenSearch    ${cloud.searchEndpoint}
A search sees a write that is a moment old; one that carries the X-Index-Token of a write waits for it.
Ctrl-C ends it all; nothing is kept.`)
    if (!stopped.aborted) await once(stopped, 'abort')
  } finally {
    await cloud.stop()
  }
} catch (error) {
  console.error((error as Error).message)
  process.exitCode = 1
} finally {
  rmSync(folder, { recursive: true, force: true })
}
