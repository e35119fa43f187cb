/** A server as clients find it: at an address its links lead to, and with the ids it chooses itself, for none of them sends one. */
import { afterAll, beforeAll } from '@jest/globals'
import { readConfig } from '../../lambdas/runtime/config.ts'
import { type EmbeddedServer, openEmbeddedServer } from '../../lambdas/runtime/embedded/server.ts'
import { freePort } from '../engines/engine.ts'
import { failOnReport } from '../fixtures/never-reports.ts'

/** `settings`: environment variables. `data`: absent: a data folder of its own. */
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

/** Starts an open server. Returns its base URL, once it runs. */
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
