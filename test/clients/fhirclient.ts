/** Steps of fhirclient.js by SMART Health IT. https://github.com/smart-on-fhir/client-js */
import imported from 'fhirclient/lib/FhirClient.js'
import type { Tree } from '../fixtures/resources.ts'
import { createdKeysOf, criterion, expectSame, person, rejectionStatusOf, transactionOf } from './expectations.ts'
import type { ClientSteps } from './steps.ts'

type FhirClient = {
  readonly create: (resource: Tree, options?: Tree) => Promise<Tree>
  readonly update: (resource: Tree, options?: Tree) => Promise<Tree>
  readonly patch: (url: string, patch: Tree, options?: Tree) => Promise<Tree>
  readonly delete: (url: string, options?: Tree) => Promise<Tree>
  readonly fhirRequest: (url: string, options?: Tree) => Promise<Tree>
  readonly resources: (url: string, options?: Tree) => AsyncGenerator<Tree>
  readonly getReferences: (resource: Tree, paths: readonly string[]) => Promise<Tree>
  readonly getFhirVersion: () => Promise<string>
  readonly getFhirRelease: () => Promise<number>
}
/** The module is CommonJS, so its default export is a member of the import. */
const Client = (imported as unknown as { readonly default: new (base: string) => FhirClient }).default

const NAME = 'fhirclient.js'
const statusOf = (error: Tree): unknown => error.statusCode ?? error.status

export function fhirclientJs(base: string): ClientSteps {
  const client = new Client(base)
  const create = (key: string, headers: Record<string, string> = {}): Promise<Tree> =>
    client.create(person(NAME, key), { headers: { 'content-type': 'application/json', ...headers } })
  const put = (body: Tree, match: string): Promise<Tree> =>
    client.update(body, { headers: { 'content-type': 'application/json', 'if-match': match } })
  const read = (id: string): Promise<Tree> => client.fhirRequest(`Patient/${id}`)
  const found = (key: string): Promise<Tree> => client.fhirRequest(`Patient?${criterion(NAME, key)}`)
  return {
    capabilities: async () => {
      expectSame([await client.getFhirVersion(), await client.getFhirRelease()], ['4.0.1', 4])
    },
    create: async () => {
      const { id, meta } = await client.create(person(NAME, 'create'))
      expectSame([typeof id, meta.versionId, (await read(id)).name[0].family], ['string', '1', `${NAME}-create`])
    },
    'update with If-Match': async () => {
      const created = await create('update')
      const changed = await put({ ...created, gender: 'female' }, 'W/"1"')
      expectSame([changed.gender, changed.meta.versionId], ['female', '2'])
    },
    'a stale If-Match is rejected': async () => {
      const created = await create('stale')
      await put({ ...created, gender: 'female' }, 'W/"1"')
      expectSame(await rejectionStatusOf(put(created, 'W/"1"'), statusOf), 412)
    },
    'conditional create': async () => {
      const headers = { 'if-none-exist': criterion(NAME, 'conditional') }
      const [one, two] = [await create('conditional', headers), await create('conditional', headers)]
      expectSame([two.id, (await found('conditional')).total], [one.id, 1])
    },
    'conditional update': async () => {
      const upsert = (more: Tree) =>
        client.fhirRequest(`Patient?${criterion(NAME, 'upsert')}`, {
          method: 'PUT',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify(person(NAME, 'upsert', more)),
        })
      const [one, two] = [await upsert({}), await upsert({ gender: 'male' })]
      expectSame([two.id, two.meta.versionId, two.gender], [one.id, '2', 'male'])
    },
    'conditional delete': async () => {
      await create('gone')
      await client.delete(`Patient?${criterion(NAME, 'gone')}`)
      expectSame((await found('gone')).total, 0)
    },
    patch: async () => {
      const { id } = await create('patch')
      const patched = await client.patch(`Patient/${id}`, [{ op: 'add', path: '/active', value: true }])
      expectSame([patched.active, patched.meta.versionId], [true, '2'])
    },
    delete: async () => {
      const { id } = await create('delete')
      await client.delete(`Patient/${id}`)
      expectSame(await rejectionStatusOf(read(id), statusOf), 404)
    },
    'paged search': async () => {
      for (let i = 0; i < 5; i++) await create('page')
      const ids: string[] = []
      for await (const { id } of client.resources(`Patient?${criterion(NAME, 'page')}&_count=2`)) ids.push(id)
      expectSame([ids.length, new Set(ids).size], [5, 5])
    },
    _include: async () => {
      const { id } = await create('include')
      const observation = {
        ...{ resourceType: 'Observation', status: 'final', code: { text: 'x' } },
        subject: { reference: `Patient/${id}` },
      }
      const created = await client.create(observation)
      const { entry } = await client.fhirRequest(`Observation?patient=${id}&_include=Observation:patient`)
      expectSame(
        entry.map(({ search }: Tree) => search.mode),
        ['match', 'include'],
      )
      expectSame((await client.getReferences(created, ['subject']))[`Patient/${id}`].id, id)
    },
    transaction: async () => {
      const answer = await client.fhirRequest(base, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(transactionOf(NAME)),
      })
      const [patient, observation] = createdKeysOf(answer)
      expectSame((await client.fhirRequest(observation!)).subject.reference, patient)
    },
    history: async () => {
      const { id } = await create('history')
      await client.delete(`Patient/${id}`)
      const { entry } = await client.fhirRequest(`Patient/${id}/_history`)
      expectSame(
        entry.map(({ request }: Tree) => request.method),
        ['DELETE', 'POST'],
      )
    },
  }
}
