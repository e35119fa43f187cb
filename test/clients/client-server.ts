/** Embedded server for clients. Its links contain its address, so that clients can follow them. It chooses ids, because no client sends one. */
import { afterAll, beforeAll } from '@jest/globals'
import { readConfig } from '../../lambdas/runtime/config.ts'
import { type EmbeddedServer, openEmbeddedServer } from '../../lambdas/runtime/embedded/server.ts'
import { freePort } from '../engines/engine.ts'
import { failOnReport } from '../fixtures/never-reports.ts'

/** Starts a server. `settings`: environment variables. `data`: data folder; absent: the server creates one. */
export async function startClientServer(
  settings: Readonly<Record<string, string>>,
  data?: string,
): Promise<{ readonly base: string; readonly embedded: EmbeddedServer }> {
  const port = await freePort()
  const base = `http://127.0.0.1:${port}/fhir`
  const embedded = await openEmbeddedServer({
    config: readConfig({ FHIR_CLIENT_IDS: 'optional', ...settings }),
    baseUrl: base,
    ...(data === undefined ? {} : { dataFolder: data }),
    report: failOnReport,
  })
  await new Promise<void>((resolve) => embedded.server.listen(port, '127.0.0.1', resolve))
  return { base, embedded }
}

/** Starts a server in open mode before the tests. Returns a function that returns its base URL. */
export function serveToClients(): () => string {
  let embedded: EmbeddedServer | undefined
  let base = ''
  beforeAll(async () => {
    const started = await startClientServer({ FHIR_ACCESS: 'open' })
    embedded = started.embedded
    base = started.base
  })
  afterAll(() => embedded?.close())
  return () => base
}
