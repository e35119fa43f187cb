/**
 * Machines fail at every call of an export for a partner, while a member denies. Its files, its messages and its record agree on the members
 * that were exported.
 */
import { describe, expect, it } from '@jest/globals'
import { resumeJobs } from '../../lambdas/export/job/job-sweep.ts'
import type { ExportParts } from '../../lambdas/export/step-types.ts'
import { readDisclosures } from '../../lambdas/partners/disclosures/disclosures.ts'
import { collect } from '../fixtures/collect.ts'
import { ExportWorld, jobOf } from '../fixtures/exporting.ts'
import { caseCountOf, firstSeed } from '../fixtures/long-runs.ts'
import { MemoryBlobs } from '../fixtures/memory/blobs.ts'
import { MemoryRows } from '../fixtures/memory/kept-rows.ts'
import { observation, patient, referenceTo, type Tree } from '../fixtures/resources.ts'
import { ANN, matchInput, OTHER, OWN, provisionFor } from '../partners/payer-exchange.ts'
import { exportPartsOf, kickOff, readFileLines, readJob, runExportJob } from './export-run.ts'
import { Machine, type StepFault } from './machine.ts'

const MEMBERS = ['ann', 'bert', 'carl', 'dora']
/** Member that denies before the kick-off, at KICK_OFF. */
const DENIED = 'bert'
/** Member that denies while the export runs. */
const RACING = 'carl'
const KICK_OFF = 5

const consentOf = (id: string, fields: Tree = {}): Tree => ({
  ...matchInput(ANN).parameter[2].resource,
  ...{ id: `c-${id}`, patient: referenceTo(`Patient/${id}`) },
  provision: { ...provisionFor(OTHER), period: { start: '1970-01-01', end: '2099-12-31' } },
  ...fields,
})
const denialOf = (id: string): Tree => consentOf(id, { id: `d-${id}`, provision: { type: 'deny' } })

const GROUP: Tree = {
  ...{ resourceType: 'Group', id: 'g', type: 'person', actual: true },
  member: MEMBERS.map((id) => ({ entity: referenceTo(`Patient/${id}`) })),
}

const idle = { start: async () => {}, stop: async () => {}, isRunning: async () => false }

/** `messages`: texts of the file of errors. `disclosed`: records, as patient and outcome. */
type Outcome = {
  readonly calls: number
  readonly lines: Readonly<Record<string, readonly Tree[]>>
  readonly messages: readonly string[]
  readonly disclosed: readonly (readonly [patient: string, outcome: string])[]
}

/** Runs the export. `fault` occurs at the call `at`, and the racing member denies before the call `denies`. */
async function runExport(fault: StepFault | undefined, at: number, denies = 0): Promise<Outcome> {
  const world = await ExportWorld.open()
  await world.save(1, GROUP, ...MEMBERS.flatMap((id) => [patient(id), consentOf(id), observation(`o-${id}`, { subject: `Patient/${id}` })]))
  await world.save(KICK_OFF, denialOf(DENIED))
  const blobs = new MemoryBlobs()
  const stores = { rows: new MemoryRows(), blobs, index: world.index, resources: world.store }
  const whole = exportPartsOf(stores, {
    partners: { payer: [OWN], sensitiveLabels: 'none', payerWindowYears: 5, providerSince: '2016-01-01' },
  })
  const partner = { type: 'hl7.fhir.us.davinci-pdex#payertopayer', view: 'payer', identifiers: [OTHER] } as const
  const job = jobOf(KICK_OFF, { group: 'g', partner })
  await kickOff(whole, job)
  let made = 0
  const deny = async (): Promise<void> => {
    if (++made === denies) await world.save(KICK_OFF + 1, denialOf(RACING))
  }
  const broken = new Machine(fault, at, deny)
  const mender = new Machine(undefined, 0, async (calls) => {
    if (calls === 10) broken.goOn()
    await deny()
  })
  const partsOf = (machine: Machine): ExportParts => {
    const parts = machine.parts(whole)
    return { ...parts, disclosing: { ...whole.disclosing, blobs: parts.blobs } }
  }
  const ended = runExportJob(partsOf(broken), job, fault?.startsWith('fails once') === true).catch(() => undefined)
  await (fault === 'hangs' ? Promise.race([broken.reached, ended]) : ended)
  for (let tries = 0; (await readJob(whole, job.id)).state === 'in-progress'; tries++) {
    expect(tries).toBeLessThan(3)
    await resumeJobs(mender.parts(whole), idle)
    await runExportJob(partsOf(mender), await readJob(whole, job.id)).catch(() => undefined)
  }
  broken.goOn()
  await ended
  const done = await readJob(whole, job.id)
  expect(done.state).toBe('complete')
  const { error = [], ...files } = await readFileLines(blobs, done)
  const lines = Object.fromEntries(Object.entries(files).map(([type, each]) => [type, each.map((line) => JSON.parse(line) as Tree)]))
  const messages = error.map((line) => JSON.parse(line).issue[0].details.text as string)
  const disclosed = (await collect(readDisclosures(blobs, {}))).map((each) => [each.patient!, each.outcome] as const)
  return { calls: broken.calls, lines, messages, disclosed }
}

const idsOf = (lines: readonly Tree[] = []): readonly string[] => lines.map(({ id }) => id).toSorted()

/** Expects that all parts of the result agree. Returns whether the racing member was exported. */
function expectAgreement({ lines, messages, disclosed }: Outcome): boolean {
  const exported = idsOf(lines.Patient)
  const isRacingExported = exported.includes(RACING)
  const permitted = MEMBERS.filter((id) => id !== DENIED && (isRacingExported || id !== RACING))
  const omitted = MEMBERS.filter((id) => !permitted.includes(id))
  expect([exported, idsOf(lines.Observation)]).toEqual([permitted, permitted.map((id) => `o-${id}`)])
  const targets = lines.Provenance!.flatMap(({ target }) => target.map(({ reference }: Tree) => reference))
  expect([targets.toSorted(), messages.toSorted()]).toEqual([
    permitted.map((id) => `Patient/${id}`),
    omitted.map((id) => `Patient/${id} is not exported`),
  ])
  expect(disclosed.toSorted()).toEqual(MEMBERS.map((id) => [`Patient/${id}`, permitted.includes(id) ? 'exported' : 'denied']))
  return isRacingExported
}

describe('an export for a payer', () => {
  it.each<StepFault>(['dies before', 'dies after', 'hangs', 'fails once', 'fails once, unheard'])(
    'has only members that permit it, and records them, if a machine %s',
    async (fault) => {
      const { calls } = await runExport(undefined, 0)
      const step = Math.ceil(calls / caseCountOf(6, 200))
      for (let call = 1 + (firstSeed() % step); call <= calls; call += step) expectAgreement(await runExport(fault, call, call))
    },
  )

  it('has a member that denies after the plan, and not one that denies before', async () => {
    const { calls } = await runExport(undefined, 0)
    const step = Math.ceil(calls / caseCountOf(12, 200))
    const exported: boolean[] = []
    for (let call = 1; call <= calls; call += step) exported.push(expectAgreement(await runExport(undefined, 0, call)))
    expect([exported[0], exported.at(-1), exported.toSorted()]).toEqual([false, true, exported])
  })
})
