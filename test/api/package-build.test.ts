/** A package of search parameters that is added, and removed, while many resources are stored: 10,000 in whole runs. */
import { beforeAll, describe, expect, it } from '@jest/globals'
import { addPackage, openPackages, removePackage } from '../../lambdas/runtime/control/package-commands.ts'
import { newFolder, runAtEnd } from '../fixtures/at-end.ts'
import { eventually } from '../fixtures/eventually.ts'
import { caseCountOf } from '../fixtures/long-runs.ts'
import { archiveOf, guideOf } from '../fixtures/payer/guides.ts'
import { clientOf, startServer, type TestClient, type Tree } from './server.ts'

const COUNT = caseCountOf(500, 10_000)
const PART = 500

const claim = (i: number): Tree => ({
  ...{ resourceType: 'ExplanationOfBenefit', id: `e${i}`, status: 'active', use: 'claim', outcome: 'complete', created: '2026-02-01' },
  ...{
    type: { text: 'institutional' },
    patient: { reference: 'Patient/p' },
    insurer: { display: 'payer' },
    provider: { display: 'clinic' },
  },
  insurance: [{ focal: true, coverage: { reference: 'Coverage/c' } }],
  billablePeriod: i % 2 === 0 ? { start: '2025-03-01', end: '2025-03-31' } : { start: '2026-03-01', end: '2026-03-31' },
})

describe(`CARIN BB 2.2.0 beside ${COUNT} claims`, () => {
  let client: TestClient
  let data: string
  const count = async (query: string): Promise<number> => {
    const { status, body } = await client.get(`/ExplanationOfBenefit?${query}&_summary=count`, { prefer: 'handling=strict' })
    return status === 200 ? body.total : status
  }
  const untilBuilt = (query: string) => eventually(() => count(query), { until: (found) => found !== 400, every: 10, within: 500_000 })
  const withPackages = async (work: (packages: Awaited<ReturnType<typeof openPackages>>) => Promise<unknown>) => {
    const packages = await openPackages(data)
    await work(packages)
    await packages.close()
  }
  const add = async () => {
    const file = await archiveOf(guideOf('carin-bb@2.2.0'))
    await withPackages((packages) => addPackage(packages, { file }))
  }
  const remove = () => withPackages((packages) => removePackage(packages, { name: 'hl7.fhir.us.carin-bb', version: '2.2.0' }))
  const untilRemoved = (query: string) => eventually(() => count(query), { until: (found) => found === 400, every: 10, within: 60_000 })

  beforeAll(async () => {
    data = newFolder()
    const { embedded, base } = await startServer({}, data)
    runAtEnd(() => embedded.close())
    client = clientOf(() => base)
    for (let i = 0; i < COUNT; i += PART) {
      const entry = Array.from({ length: PART }, (_, j) => claim(i + j)).map((resource) => ({
        ...{ resource, request: { method: 'PUT', url: `ExplanationOfBenefit/${resource.id}` } },
      }))
      const { status } = await client.post('/', { resourceType: 'Bundle', type: 'transaction', entry })
      expect(status).toBe(200)
    }
  })

  it('fails no search while its parameters are built, and then finds all claims', async () => {
    await add()
    const others: number[] = []
    let built = 400
    while (built === 400) {
      others.push(await count('patient=Patient/p'))
      built = await count('service-date=2025')
    }
    expect(new Set(others)).toEqual(new Set([COUNT]))
    expect(built).toBe(COUNT / 2)
    await remove()
    await untilRemoved('service-date=2025')
  })

  it('leaves the parameter of a tenant that has the same meaning, when the package is removed', async () => {
    const { id: _, ...definition } = guideOf('carin-bb@2.2.0').resources.find(({ code }) => code === 'service-date')!
    const { status } = await client.put('/SearchParameter/own', { ...definition, id: 'own', name: 'Own', description: 'Own' })
    expect(status).toBe(201)
    await untilBuilt('service-date=2025')
    await add()
    await untilBuilt('service-start-date=2025-03-01')
    expect(await count('service-date=2025')).toBe(COUNT / 2)
    await remove()
    await untilRemoved('service-start-date=2025-03-01')
    expect(await count('service-date=2025')).toBe(COUNT / 2)
  })

  it('may be removed and added again while it is built', async () => {
    await add()
    expect(await count('patient=Patient/p')).toBe(COUNT)
    await remove()
    await untilRemoved('service-start-date=2025-03-01')
    await add()
    expect(await untilBuilt('service-start-date=2025-03-01')).toBe(COUNT / 2)
  })
})
