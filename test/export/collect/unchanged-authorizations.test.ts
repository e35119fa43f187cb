/** Changed Binaries of authorizations and documents that did not change, in more pages than one slice reads. */
import { expect, it } from '@jest/globals'
import type { Job } from '../../../lambdas/export/job/job.ts'
import { ExportWorld, jobOf } from '../../fixtures/exporting.ts'
import { MemoryRows } from '../../fixtures/memory/kept-rows.ts'
import { patient, referenceTo, type Tree } from '../../fixtures/resources.ts'
import { instantAt } from '../../fixtures/versions.ts'
import { exportPartsOf, kickOff, readFileLines, readJob, runExportJob } from '../export-run.ts'

const PARTNER: Job['partner'] = { type: 'hl7.fhir.us.davinci-pdex#provider-download', view: 'provider' }
const MEMBERS = ['ann', 'bert']

const GROUP: Tree = {
  ...{ resourceType: 'Group', id: 'g', type: 'person', actual: true },
  member: MEMBERS.map((id) => ({ entity: referenceTo(`Patient/${id}`) })),
}

const binary = (id: string): Tree => ({ resourceType: 'Binary', id, contentType: 'text/plain', data: 'eA==' })

/** Returns a Patient, an authorization and its document. The document names the Binary with the id of the Patient. */
const recordOf = (id: string): readonly Tree[] => [
  patient(id),
  {
    ...{ resourceType: 'ExplanationOfBenefit', id, status: 'active', use: 'preauthorization', outcome: 'queued' },
    ...{ patient: referenceTo(`Patient/${id}`), supportingInfo: [{ valueReference: referenceTo(`DocumentReference/${id}`) }] },
  },
  {
    ...{ resourceType: 'DocumentReference', id, status: 'current', subject: referenceTo(`Patient/${id}`) },
    content: [{ attachment: { url: `Binary/${id}` } }],
  },
]

it('finds the authorizations of every changed Binary, page by page', async () => {
  const world = await ExportWorld.open()
  await world.save(1, GROUP, ...MEMBERS.flatMap(recordOf))
  await world.save(2, binary('ann'))
  await world.save(3, ...Array.from({ length: 1_500 }, (_, i) => binary(`other-${i}`)))
  await world.save(4, binary('bert'))
  let pages = 0
  const store = world.counted(() => undefined)
  const history: typeof store.history = (scope, ...asked) => {
    if (scope.type === 'Binary') pages++
    return store.history(scope, ...asked)
  }
  const stores = { rows: new MemoryRows(), blobs: world.blobs, resources: { ...store, history }, index: world.index }
  // Each slice reads one page.
  const parts = exportPartsOf(stores, { budget: -1 })
  const job = jobOf(5, { group: 'g', partner: PARTNER!, asked: { since: instantAt(1) } })
  await kickOff(parts, job)
  await runExportJob(parts, job)
  const { Binary = [] } = await readFileLines(parts.blobs, await readJob(parts, job.id))
  expect([Binary.map((line) => JSON.parse(line).id).toSorted(), pages]).toEqual([MEMBERS, 2])
})
