/** An index that an operator closed or blocked: writes and searches wait until it is open again. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { Client } from '@opensearch-project/opensearch'
import { OpenSearchIndex } from '../../../lambdas/adapters/opensearch/search-index.ts'
import { and, type Plan } from '../../../lambdas/ports/search/plan.ts'
import { document } from '../../contracts/index-document.ts'
import { type AnsweringEngine, startAnsweringEngine } from '../../engines/opensearch-double.ts'

type Shut = { readonly status: number; readonly error: { readonly type: string } }

const PLAN: Plan = { tenant: 'one', types: ['Patient'], where: and(), access: 'everything', order: [], limit: 10, total: 'none' }
const MANY = Array.from({ length: 31 }, (_, i) => `Type${i}`)

let engine: AnsweringEngine
let client: Client
let index: OpenSearchIndex
let shut: Shut | undefined
const told: string[] = []

beforeEach(async () => {
  told.length = 0
  const answered = { timed_out: false, hits: { hits: [] }, _shards: { total: 1, successful: 1, failed: 0 } }
  engine = await startAnsweringEngine(({ path }) => {
    if (path.startsWith('/_bulk')) return { items: [{ index: shut ?? { status: 200 } }] }
    if (path.startsWith('/_msearch')) return { responses: [shut ?? answered] }
    return path.includes('_search') ? (shut ?? answered) : {}
  })
  client = new Client({ node: engine.endpoint })
  const live = { identity: 'id', types: { Patient: { identity: 'id' } }, former: [] }
  const onPoison = ({ id }: { readonly id: string }, reason: string) => void told.push(`${id} ${reason}`)
  index = new OpenSearchIndex(client, { prefix: 'fhir', live: async () => live, attempts: 2, pause: 1, onPoison })
})
afterEach(async () => {
  await client.close()
  await engine.close()
})

describe.each<Shut>([
  { status: 400, error: { type: 'index_closed_exception' } },
  { status: 403, error: { type: 'cluster_block_exception' } },
])('an index that answers %o', (answer) => {
  it('answers no search, of one type or of many', async () => {
    shut = answer
    await expect(index.find(PLAN)).rejects.toMatchObject({ fault: 'unavailable', kind: answer.error.type })
    await expect(index.find({ ...PLAN, types: MANY })).rejects.toMatchObject({ fault: 'unavailable', kind: answer.error.type })
    shut = undefined
    expect(await index.find(PLAN)).toMatchObject({ hits: [] })
  })

  it('stores and reports no stub of a document, which is delivered again', async () => {
    shut = answer
    const some = [document({ type: 'Patient', id: '1' })]
    await expect(index.apply(some)).rejects.toMatchObject({ fault: 'not-applied' })
    expect([told, engine.requests.some(({ body }) => body.includes('"refused":true'))]).toEqual([[], false])
    shut = undefined
    await index.apply(some)
  })
})
