/** A server with a directory that anybody may read, at a time that the test sets. */
import type { AddressInfo } from 'node:net'
import { readConfig } from '../../lambdas/runtime/config.ts'
import { openEmbeddedServer } from '../../lambdas/runtime/embedded/server.ts'
import { clientOf, type TestClient } from '../api/server.ts'
import { newFolder } from '../fixtures/at-end.ts'
import { failOnReport } from '../fixtures/never-reports.ts'
import { SetClock } from '../fixtures/set-clock.ts'

export type PublicDirectory = {
  readonly folder: string
  readonly clock: SetClock
  /** Sends no token. */
  readonly anybody: TestClient
  readonly administrator: TestClient
  readonly close: () => Promise<void>
}

/** Public types: Locations, and the Organizations that are providers. */
const PUBLIC_READ = 'system/Location.rs system/Organization.rs?type=prov'

const location = (id: string, name: string, organization: string) => ({
  resourceType: 'Location',
  id,
  name,
  managingOrganization: { reference: `Organization/${organization}` },
})
const organization = (id: string, name: string, code: string) => ({
  resourceType: 'Organization',
  id,
  name,
  type: [{ coding: [{ code }] }],
})

const DIRECTORY = [
  organization('clinic', 'Clinic', 'prov'),
  organization('employer', 'Employer', 'bus'),
  location('a', 'North', 'clinic'),
  location('b', 'South', 'employer'),
  { resourceType: 'PractitionerRole', id: 'r', active: true, location: [{ reference: 'Location/a' }] },
  { resourceType: 'Patient', id: 'p' },
]

/** Opens the server. `settings`: environment variables besides that of the public types. */
export async function openPublicDirectory(settings: Readonly<Record<string, string>> = {}): Promise<PublicDirectory> {
  const clock = new SetClock('2027-01-04T12:00:00Z')
  const folder = newFolder()
  const embedded = await openEmbeddedServer({
    config: readConfig({ FHIR_PUBLIC_READ: PUBLIC_READ, FHIR_AUDIT_DURABILITY: 'strict', ...settings }),
    ...{ baseUrl: 'http://127.0.0.1/fhir', dataFolder: folder, times: clock, report: failOnReport },
  })
  await new Promise<void>((resolve) => embedded.server.listen(0, '127.0.0.1', resolve))
  const base = `http://127.0.0.1:${(embedded.server.address() as AddressInfo).port}/fhir`
  const token = await embedded.issue({ isAdministrator: true })
  const [anybody, administrator] = [undefined, token].map((each) =>
    clientOf(
      () => base,
      () => each,
    ),
  ) as [TestClient, TestClient]
  for (const resource of DIRECTORY) await administrator.put(`/${resource.resourceType}/${resource.id}`, resource)
  return { folder, clock, anybody, administrator, close: () => embedded.close() }
}
