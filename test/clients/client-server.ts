/** A server as clients find it: open, at an address its links lead to, and with the ids it chooses itself, for none of them sends one. */
import { afterAll, beforeAll } from '@jest/globals'
import { readConfig } from '../../lambdas/runtime/config.ts'
import { type EmbeddedServer, openEmbeddedServer } from '../../lambdas/runtime/embedded/server.ts'
import { freePort } from '../engines/engine.ts'
import { failOnReport } from '../fixtures/never-reports.ts'

/** Its base URL, once it runs. */
export function serveToClients(): () => string {
  let embedded: EmbeddedServer | undefined
  let base = ''
  beforeAll(async () => {
    const port = await freePort()
    base = `http://127.0.0.1:${port}/fhir`
    embedded = await openEmbeddedServer({
      config: readConfig({ FHIR_ACCESS: 'open', FHIR_CLIENT_IDS: 'optional' }),
      baseUrl: base,
      report: failOnReport,
    })
    const { server } = embedded
    await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  })
  afterAll(() => embedded?.close())
  return () => base
}
