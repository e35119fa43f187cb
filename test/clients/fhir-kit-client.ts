/** https://github.com/Vermonster/fhir-kit-client */
import { Client } from 'fhir-kit-client'
import type { Tree } from '../fixtures/resources.ts'
import { createdKeysOf, criterion, expectSame, person, rejectionStatusOf, SYSTEM, transactionOf } from './expectations.ts'
import type { ClientSteps } from './steps.ts'

const NAME = 'fhir-kit-client'
const resourceType = 'Patient'
const statusOf = (error: Tree): unknown => error.response?.status

export function fhirKitClient(base: string): ClientSteps {
  const client = new Client({ baseUrl: base })
  const create = (key: string, headers: Record<string, string> = {}): Promise<Tree> =>
    client.create({ resourceType, body: person(NAME, key), options: { headers } })
  const put = (body: Tree, match: string): Promise<Tree> =>
    client.update({ resourceType, id: body.id, body, options: { headers: { 'if-match': match } } })
  const search = (searchParams: Record<string, string | number>, type = resourceType): Promise<Tree> =>
    client.search({ resourceType: type, searchParams })
  const countOf = async (key: string): Promise<number> => (await search({ identifier: `${SYSTEM}|${NAME}-${key}` })).total
  return {
    capabilities: async () => {
      const { fhirVersion, rest }: Tree = await client.capabilityStatement()
      expectSame([fhirVersion, rest[0].mode], ['4.0.1', 'server'])
    },
    create: async () => {
      const { id, meta } = await create('create')
      expectSame([typeof id, meta.versionId], ['string', '1'])
      const read: Tree = await client.read({ resourceType, id })
      expectSame(read.name[0].family, `${NAME}-create`)
    },
    'update with If-Match': async () => {
      const created = await create('update')
      const changed = await put({ ...created, gender: 'female' }, 'W/"1"')
      expectSame([changed.gender, changed.meta.versionId], ['female', '2'])
      const first: Tree = await client.vread({ resourceType, id: created.id, version: '1' })
      expectSame(first.gender, undefined)
    },
    'a stale If-Match is rejected': async () => {
      const created = await create('stale')
      await put({ ...created, gender: 'female' }, 'W/"1"')
      expectSame(await rejectionStatusOf(put(created, 'W/"1"'), statusOf), 412)
    },
    'conditional create': async () => {
      const headers = { 'if-none-exist': criterion(NAME, 'conditional') }
      const [one, two] = [await create('conditional', headers), await create('conditional', headers)]
      expectSame([two.id, await countOf('conditional')], [one.id, 1])
    },
    'conditional update': async () => {
      const body = person(NAME, 'upsert')
      const searchParams = { identifier: `${SYSTEM}|${NAME}-upsert` }
      const one: Tree = await client.update({ resourceType, searchParams, body })
      const two: Tree = await client.update({ resourceType, searchParams, body: { ...body, gender: 'male' } })
      expectSame([two.id, two.meta.versionId, two.gender], [one.id, '2', 'male'])
    },
    'conditional delete': async () => {
      await create('gone')
      await client.request(`Patient?${criterion(NAME, 'gone')}`, { method: 'DELETE' })
      expectSame(await countOf('gone'), 0)
    },
    patch: async () => {
      const { id } = await create('patch')
      const patched: Tree = await client.patch({ resourceType, id, jsonPatch: [{ op: 'add', path: '/active', value: true }] })
      expectSame([patched.active, patched.meta.versionId], [true, '2'])
    },
    delete: async () => {
      const { id } = await create('delete')
      await client.delete({ resourceType, id })
      expectSame(await rejectionStatusOf(client.read({ resourceType, id }), statusOf), 404)
    },
    'paged search': async () => {
      for (const gender of ['male', 'female', 'other', 'unknown', 'male'])
        await client.create({ resourceType, body: person(NAME, 'page', { gender }) })
      const found: string[] = []
      let page: Tree = await search({ identifier: `${SYSTEM}|${NAME}-page`, _count: 2, _sort: 'gender' })
      for (; page !== undefined; page = await client.nextPage({ bundle: page }))
        found.push(...page.entry.map(({ resource }: Tree) => resource.id))
      expectSame([found.length, new Set(found).size], [5, 5])
    },
    _include: async () => {
      const { id } = await create('include')
      await client.create({
        resourceType: 'Observation',
        body: { resourceType: 'Observation', status: 'final', code: { text: 'x' }, subject: { reference: `Patient/${id}` } },
      })
      const { entry } = await search({ patient: id, _include: 'Observation:patient' }, 'Observation')
      expectSame(
        entry.map(({ search: { mode } }: Tree) => mode),
        ['match', 'include'],
      )
    },
    transaction: async () => {
      const [patient, observation] = createdKeysOf(await client.transaction({ body: transactionOf(NAME) as never }))
      const created: Tree = await client.read({ resourceType: 'Observation', id: observation!.split('/')[1]! })
      expectSame(created.subject.reference, patient)
    },
    history: async () => {
      const { id } = await create('history')
      await client.delete({ resourceType, id })
      const { entry }: Tree = await client.history({ resourceType, id })
      expectSame(
        entry.map(({ request: { method } }: Tree) => method),
        ['DELETE', 'POST'],
      )
      const all: Tree = await client.systemHistory()
      expectSame(all.type, 'history')
    },
  }
}
