/** Small requests that would take very long, or all memory: refused, and everybody else is answered. */
import { expect, it } from '@jest/globals'
import { patient } from '../fixtures/resources.ts'
import { issuesOf, newId, type Tree, withServer } from './server.ts'

const { get, put, post, patch } = withServer()

const times = (count: number, text: string): string => text.repeat(count)
const deleting = (path: string): Tree => ({
  resourceType: 'Parameters',
  parameter: [{ name: 'operation', part: [{ name: 'type', valueCode: 'delete' }, { name: 'path', valueString: path }] }],
}) // biome-ignore format: one operation
const where = (criterion: string): Tree => deleting(`Patient.name.where(${criterion})`)
const operations = (count: number, operation: Tree): readonly Tree[] => Array.from({ length: count }, () => operation)

it.each<[string, Tree]>([
  ['a pattern with catastrophic backtracking', where("family.matches('^(a+)+$')")],
  ['doubled text', where(`family${times(30, '.select($this & $this)')}.contains('z')`)],
  ['text replaced by longer text', where(`family${times(9, ".replace('a', 'aaaaaaaaaa')")}.contains('z')`)],
  ['text with patterns replaced by longer text', where(`family${times(9, ".replaceMatches('.', '$0$0$0')")}.contains('z')`)],
  ['items that are doubled', where(`given${times(40, '.select($this | $this.where(true))')}.exists()`)],
  ['a value that is asked for twice at each step', where(`given${times(40, '.iif($this.exists(), $this, $this)')}.exists()`)],
  ['copies of copies', operations(40, { op: 'copy', from: '/name', path: '/name/-' })],
  [
    'moves in a long list',
    [
      { op: 'add', path: '/extension', value: operations(30_000, { url: 'x' }) },
      ...operations(60_000, { op: 'move', from: '/extension/0', path: '/extension/9' }),
    ],
  ],
])('a patch with %s is 422, changes nothing, and delays no other request', async (_, document) => {
  const path = `/Patient/${newId()}`
  await put(path, patient(path.slice(9), { name: [{ family: `${times(40, 'a')}!`, given: ['a', 'b'] }, { family: 'b' }] }))
  const [answer, other] = await Promise.all([patch(path, document), get('/metadata')])
  expect([answer.status, issuesOf(answer), other.status]).toEqual([422, ['error too-costly'], 200])
  expect((await get(path)).body.meta.versionId).toBe('1')
})

it.each<[string, string]>([
  ['items that are doubled', `Patient.name${times(24, '.select($this | $this.where(true))')}.family`],
  ['combined items', `Patient.name${times(24, '.select($this.combine($this))')}.family`],
  ['nested criteria', `Patient.name${times(30, '.where(($this | $this.where(true))')}${times(30, ')')}`],
  ['a value that is asked for twice at each step', `Patient.name${times(40, '.iif($this.exists(), $this, $this)')}`],
  ['an endless repeat', 'Patient.name.given | (1).repeat($this + 1).toString()'],
  ['doubled text that one operation splits', `'abcdefgh'${times(23, '.select($this & $this)')}.toChars().count().toString()`],
  ['all types of value, repeatedly', `Patient${times(6, '.extension.value')}`],
])('a parameter with a too costly expression is rejected: %s', async (_, expression) => {
  const definition = {
    resourceType: 'SearchParameter',
    id: 'costly',
    url: 'urn:costly',
    name: 'costly',
    description: 'x',
    status: 'active',
  }
  const [answer, other] = await Promise.all([
    put('/SearchParameter/costly', { ...definition, code: 'costly', base: ['Patient'], type: 'string', expression }),
    get('/metadata'),
  ])
  expect([answer.status, issuesOf(answer), other.status]).toEqual([422, ['error too-costly SearchParameter.expression'], 200])
})

it('more than 200 parameters of a type are unused in a transaction, and rejected alone', async () => {
  const parameter = (i: number) => ({
    resourceType: 'SearchParameter',
    id: `many-${i}`,
    url: `urn:many:${i}`,
    name: 'many',
    description: 'x',
    status: 'active',
    code: `many-${i}`,
    base: ['Slot'],
    type: 'string',
    expression: 'Slot.comment',
  })
  const entry = Array.from({ length: 201 }, (_, i) => ({
    resource: parameter(i),
    request: { method: 'PUT', url: `SearchParameter/many-${i}` },
  }))
  expect((await post('/', { resourceType: 'Bundle', type: 'transaction', entry })).status).toBe(200)
  const status = async (name: string): Promise<readonly Tree[]> =>
    (await get('/$reindex-status')).body.parameter.filter((each: Tree) => each.name === name)
  while ((await status('rebuild')).length > 0);
  expect((await status('parameter')).length).toBe(200)
  expect((await status('unreadable')).map(({ part }) => [part[0].valueReference.reference, part[1].valueString])).toEqual([
    ['SearchParameter/many-200/_history/1', 'TooManyParameters'],
  ])
  expect(issuesOf(await put('/SearchParameter/many-201', parameter(201)))).toEqual(['error too-costly SearchParameter.base'])
  // One that is there already may change.
  expect((await put('/SearchParameter/many-7', parameter(7))).status).toBe(200)
})
