/** A search parameter somebody defines, on the deployed stacks: the stream tells of it, the state machine makes the documents, searches use it. */
import { expect, it } from '@jest/globals'
import { newId, type Tree } from '../api/server.ts'
import { patient } from '../fixtures/resources.ts'
import { onCloud } from './deployed.ts'
import { NICKNAME } from './nickname.ts'

onCloud('the deployed rebuild', {}, (_, { get, put, post }) => {
  const settled = async (): Promise<void> => {
    for (let i = 0; i < 600; i++) {
      const { body } = await get('/$reindex-status')
      const parts: readonly Tree[] = body.parameter.flatMap(({ part = [] }: Tree) => part)
      const isDefined = parts.some(({ name }) => name === 'code' || name === 'url')
      if (isDefined && !parts.some(({ name, valueCode }) => name === 'type' || valueCode === 'building')) return
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
    throw new Error('not built')
  }

  it('makes what is defined searchable, and makes an index again', async () => {
    const ids = Array.from({ length: 20 }, newId)
    for (const [i, id] of ids.entries()) await put(`/Patient/${id}`, patient(id, { name: [{ use: 'nickname', given: [`Nick${i % 2}`] }] }))
    const defined = await put('/SearchParameter/nickname', NICKNAME)
    expect(defined.status).toBe(201)
    await settled()
    const found = async () => (await get('/Patient?nickname=nick1&_summary=count', { prefer: 'handling=strict' })).body.total
    for (let i = 0; i < 300 && (await found()) !== 10; i++) await new Promise((resolve) => setTimeout(resolve, 100))
    expect(await found()).toBe(10)
    expect((await post('/$reindex?type=Patient', undefined)).status).toBe(202)
    await settled()
    expect(await found()).toBe(10)
  })
})
