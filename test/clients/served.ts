/** A server as clients find it: open, at an address its links lead to, and with the ids it chooses itself, for none of them sends one. */
import { afterAll, beforeAll } from '@jest/globals'
import { readConfig } from '../../lambdas/runtime/config.ts'
import { type Embedded, openEmbedded } from '../../lambdas/runtime/embedded/server.ts'
import { freePort } from '../engines/engine.ts'
import { neverReports } from '../fixtures/never-reports.ts'

/** Its base URL, once it runs. */
export function servedToClients(): () => string {
  let embedded: Embedded | undefined
  let base = ''
  beforeAll(async () => {
    const port = await freePort()
    base = `http://127.0.0.1:${port}/fhir`
    embedded = await openEmbedded({
      config: readConfig({ FHIR_ACCESS: 'open', FHIR_CLIENT_IDS: 'optional' }),
      baseUrl: base,
      report: neverReports,
    })
    const { server } = embedded
    await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  })
  afterAll(() => embedded?.close())
  return () => base
}
