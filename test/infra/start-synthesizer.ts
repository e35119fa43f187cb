/** Global setup of Jest: starts the synthesizer, which loads the CDK at the first request. FHIR_TEST_SYNTHESIZER holds its port. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'

export default async function startSynthesizer(): Promise<void> {
  const child = fork(join(import.meta.dirname, 'synthesizer.ts'), {
    execArgv: ['--disable-warning=ExperimentalWarning'],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  const port = await Promise.race([
    once(child, 'message').then(([message]) => message as number),
    once(child, 'exit').then(([code]) => Promise.reject(new Error(`the synthesizer exited with code ${code}`))),
  ])
  process.env.FHIR_TEST_SYNTHESIZER = String(port)
  Object.assign(globalThis, { synthesizer: child })
}
