/**
 * Units and requests of a match of many members on AWS, and of the export of the found members. They are counted from the calls of the
 * steps.
 */
import { DynamoDbGrants } from '../../lambdas/adapters/dynamodb/rows/grants.ts'
import { DynamoDbRows } from '../../lambdas/adapters/dynamodb/rows/rows.ts'
import { TableClient } from '../../lambdas/adapters/dynamodb/table-client.ts'
import { SqliteSearchIndex } from '../../lambdas/adapters/sqlite-index/search-index.ts'
import type { Job } from '../../lambdas/export/job/job.ts'
import { partCountOf, storeRequestParts } from '../../lambdas/export/match/request-parts.ts'
import type { ExportParts } from '../../lambdas/export/step-types.ts'
import { exportWorkflow } from '../../lambdas/export/workflow.ts'
import { compartmentsOf } from '../../lambdas/fhir/compartment.ts'
import { type MatchStorePorts, matchStore } from '../../lambdas/interactions/operations/match-store.ts'
import { matchLimits } from '../../lambdas/partners/guesses/match-limits.ts'
import type { ResourceWriter, Write } from '../../lambdas/ports/store/resource-store.ts'
import { extract } from '../../lambdas/search/documents/extract.ts'
import { identifiersOf } from '../../lambdas/search/documents/identifiers.ts'
import { EXPORTED_PER_SECOND } from '../../lib/model/assumptions.ts'
import { PRICES } from '../../lib/model/prices.ts'
import { workflowUseOf } from '../../lib/model/workflow-events.ts'
import { DEFAULT_SETTINGS } from '../../lib/settings/settings.ts'
import type { DynamoEngine } from '../engines/dynoxide.ts'
import { exportPartsOf, kickOff, readJob, runExportJob } from '../export/export-run.ts'
import { runAtEnd } from '../fixtures/at-end.ts'
import { type ConsumedUnits, meteredClient } from '../fixtures/dynamodb/capacity.ts'
import { TestTable } from '../fixtures/dynamodb/store.ts'
import { jobOf, TEST_SEARCH_CONTEXT } from '../fixtures/exporting.ts'
import { EXPRESSIONS } from '../fixtures/expressions.ts'
import { MemoryBlobs } from '../fixtures/memory/blobs.ts'
import type { Tree } from '../fixtures/resources.ts'
import { resourceKeyOf, versionOf, writeOf } from '../fixtures/versions.ts'
import { ANN, bulkInput, CLAIM_UNDER_VIEW, coverageOf, EXPORT_TYPE, OTHER, OWN } from '../partners/payer-exchange.ts'

/** `puts`: requests to S3 that write. `searches`: requests to OpenSearch. */
export type JobUse = ConsumedUnits & { readonly puts: number; readonly searches: number }

const TENANT = 't'
/** Members that are stored at once. */
const BATCH = 30

const memberOf = (i: number) => ({ ...ANN, id: `m${i}`, given: `Ann${i}`, card: `W-${i}` })

/** Returns a Patient, a Coverage and a claim. */
function recordOf({ id, family, given, birthDate, card }: ReturnType<typeof memberOf>): readonly Tree[] {
  const patient = { reference: `Patient/${id}` }
  return [
    {
      ...{ resourceType: 'Patient', id, birthDate, gender: 'female', name: [{ family, given: [given] }] },
      identifier: [{ system: 'http://example.org/members', value: `member-${id}` }],
    },
    { ...coverageOf(card, patient.reference), id: `coverage-${id}` },
    { ...CLAIM_UNDER_VIEW, id: `claim-${id}`, patient },
  ]
}

export class MatchWorld {
  readonly #meter: ReturnType<typeof meteredClient>
  readonly #writer: ResourceWriter
  readonly #index = new SqliteSearchIndex(':memory:')
  readonly #blobs = new MemoryBlobs()
  readonly #table: TestTable
  readonly #parts: ExportParts
  #searches = 0

  private constructor(engine: DynamoEngine, table: TestTable, state: TestTable) {
    runAtEnd(() => this.#index.close())
    this.#table = table
    this.#meter = meteredClient(engine.client)
    const options = { client: this.#meter.client, mostActions: 100 }
    const store = table.store(options)
    const writer = table.storeWithRows(options)
    this.#writer = {
      commit: async (writes, guards) => {
        const result = await writer.commit(writes, guards)
        if (result.kind === 'committed') this.#apply(writes)
        return result
      },
    }
    const stateTable = new TableClient(this.#meter.client, state.name, { attempts: 10, patience: 60_000 })
    const rows = new DynamoDbRows(stateTable)
    const now = () => table.clock.now()
    const grants = new DynamoDbGrants(stateTable, now)
    const ports: MatchStorePorts = {
      ...{ clock: table.clock, expressions: EXPRESSIONS, identifiersOf, rows, heads: store.heads.bind(store), profiled: () => [] },
      ...{ progress: { status: unexpected, parameters: unexpected }, writer: this.#writer },
    }
    const stores = { rows, blobs: this.#blobs, resources: store, index: this.#countedIndex() }
    this.#parts = exportPartsOf(stores, {
      now,
      matchLimits: matchLimits({ grants, now, readKey: async () => Buffer.alloc(32), alert: () => undefined }),
      storeMatch: matchStore(ports, async () => TEST_SEARCH_CONTEXT),
      partners: { payer: [OWN], sensitiveLabels: 'none', payerWindowYears: 5, providerSince: '2016-01-01' },
    })
  }

  /** Stores this number of members: a Patient, a Coverage and a claim each. */
  static async open(engine: DynamoEngine, members: number): Promise<MatchWorld> {
    const world = new MatchWorld(engine, await TestTable.create(engine), await TestTable.create(engine))
    const all = Array.from({ length: members }, (_, i) => memberOf(i))
    for (let first = 0; first < members; first += BATCH) {
      const writes = all.slice(first, first + BATCH).flatMap(recordOf).map((body) => world.#createOf(body)) // biome-ignore format: one line
      const result = await world.#writer.commit(writes, [])
      if (result.kind !== 'committed') throw new Error(result.kind)
    }
    return world
  }

  /** Matches all members. Returns the use of its job, which has this id. */
  async match(id: string, members: number): Promise<JobUse> {
    const sent = bulkInput(Array.from({ length: members }, (_, i) => ({ member: memberOf(i) }))).parameter.map(({ part }: Tree) => ({
      ...{ patient: part[0].resource, coverage: part[1].resource, consent: part[2].resource },
    }))
    const settings = {
      ...{ payer: [OWN], organizationName: 'Payer', sensitiveLabels: 'none' as const, longest: 366 * 86_400_000 },
      ...{ reportOptOut: false, treatment: 'attested' as const },
    }
    const match = { kind: 'payer' as const, identifiers: [OTHER], members, settings }
    return this.#useOf({ id, kind: 'match', match }, () => storeRequestParts(this.#blobs, id, sent, () => undefined))
  }

  /** Exports the members that a match found for the other payer. */
  export = (match: string): Promise<JobUse> =>
    this.#useOf({ id: `export-${match}`, group: match, partner: { type: EXPORT_TYPE, view: 'payer', identifiers: [OTHER] } })

  /** Returns the number of lines of a type in the files of a job. */
  async lines(job: string, type: string): Promise<number> {
    const { files = [] } = await readJob(this.#parts, job)
    return files.filter((file) => file.type === type).reduce((sum, { count }) => sum + count, 0)
  }

  async #useOf(fields: Partial<Omit<Job, 'asked'>>, begin: () => Promise<void> = async () => {}): Promise<JobUse> {
    // Searches of the job count writes before this instant.
    this.#table.clock.ahead += 60_000
    const job = { ...jobOf(0, fields), transactionTime: this.#table.clock.now() }
    const before = { puts: this.#puts(), searches: this.#searches }
    this.#meter.take()
    await kickOff(this.#parts, job)
    await begin()
    this.#table.clock.ahead += 60_000
    await runExportJob(this.#parts, job)
    const { state } = await readJob(this.#parts, job.id)
    if (state !== 'complete') throw new Error(`${job.id} is ${state}`)
    return { ...this.#meter.take(), puts: this.#puts() - before.puts, searches: this.#searches - before.searches }
  }

  #puts(): number {
    return this.#blobs.puts + this.#table.blobs.size + [...this.#blobs.uploads.values()].length
  }

  #createOf(body: Tree): Write {
    const key = resourceKeyOf(TENANT, body.resourceType, body.id)
    const lastUpdated = this.#table.clock.now()
    return writeOf(key, { expected: 0, lastUpdated, body, compartments: compartmentsOf(body as never, TEST_SEARCH_CONTEXT) })
  }

  #apply(writes: readonly Write[]): void {
    this.#index.applyNow(
      writes.map((write) => extract(versionOf(write), JSON.parse(new TextDecoder().decode(write.body)), TEST_SEARCH_CONTEXT)),
    )
  }

  #countedIndex(): ExportParts['index'] {
    const index = this.#index
    const counted = new Set<string | symbol>(['find', 'distinct', 'count'])
    return new Proxy(index, {
      get: (_, name) => {
        const value: unknown = Reflect.get(index, name, index)
        if (typeof value !== 'function') return value
        return (...args: unknown[]) => {
          if (counted.has(name)) this.#searches++
          return value.apply(index, args)
        }
      },
    })
  }
}

const unexpected = () => Promise.reject(new Error('not expected'))

/** State transitions of a match. */
function transitionsOf(members: number): number {
  const parts = partCountOf(members)
  const once = { Plan: 1, Planned: 1, EachSegment: 1, Gather: 1, Gathered: 1, Finish: 1, Done: 1 }
  return workflowUseOf(exportWorkflow('step'), { ...once, Write: parts, WriteMore: parts, WriteDone: parts }, parts).transitions
}

/**
 * Assumed members that a function matches per second, and resources that it exports per second. An export for a partner changes claims, so
 * it has half the rate of `$export`. Measurements on one machine do not apply to Lambda.
 */
const [MATCHED_PER_SECOND, EXPORTED] = [33, EXPORTED_PER_SECOND / 2]
/** Assumed state transitions of an export: those of a match of its size, and the attempts to plan. */
const EXPORT_TRANSITIONS = 60
const MILLION = 1e6

/** Returns the dollars of a match. `use`: units of DynamoDB of one member. */
export const matchDollars = (use: ConsumedUnits, members: number): number =>
  dollarsOf(use, members, { seconds: members / MATCHED_PER_SECOND, transitions: transitionsOf(members) })

/** Returns the dollars of an export of three resources of each member. */
export const exportDollars = (use: ConsumedUnits, members: number): number =>
  dollarsOf(use, members, { seconds: (3 * members) / EXPORTED, transitions: EXPORT_TRANSITIONS })

/** Requests to S3 of a job of this size. They cost little compared with the rest. */
const PUTS = 15

const dollarsOf = (
  { read, write }: ConsumedUnits,
  members: number,
  job: { readonly seconds: number; readonly transitions: number },
): number =>
  (members * (read * PRICES.readUnit + write * PRICES.writeUnit) + PUTS * PRICES.objectWrite + job.transitions * PRICES.transition) /
    MILLION +
  job.seconds * (DEFAULT_SETTINGS.memory.worker / 1_024) * PRICES.computing
