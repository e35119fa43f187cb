/** Global teardown of Jest: ends the synthesizer, which removes its folder. */
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'

export default async function endSynthesizer(): Promise<void> {
  const { synthesizer } = globalThis as unknown as { readonly synthesizer: ChildProcess }
  const ended = once(synthesizer, 'exit')
  synthesizer.disconnect()
  await ended
}
