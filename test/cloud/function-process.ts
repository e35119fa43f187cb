/** A process that runs one bundled function as Lambda's runtime would: loads it, answers events one after the other. See startFunction. */
import { createRequire } from 'node:module'

type Message = { readonly id: number; readonly event: string; readonly remaining: number }
type Handler = (event: unknown, context: object) => Promise<unknown>

const began = performance.now()
const { handler } = createRequire(import.meta.url)(process.argv.at(-1)!) as { readonly handler: Handler }

process.on('message', async ({ id, event, remaining }: Message) => {
  const until = Date.now() + remaining
  const context = { awsRequestId: crypto.randomUUID(), getRemainingTimeInMillis: () => until - Date.now() }
  try {
    process.send!({ id, result: JSON.stringify((await handler(JSON.parse(event), context)) ?? null) })
  } catch (error) {
    process.send!({ id, error: String((error as Error).stack ?? error) })
  }
})
process.on('disconnect', () => process.exit())
process.send!({ loaded: performance.now() - began })
