/** The cache of searches during a load, with concurrent callers. */
import { describe, expect, it } from '@jest/globals'
import type { Post } from '../../../bin/client/http-post.ts'
import { referenceLookup } from '../../../bin/load/reference-lookup.ts'
import { waitTurns } from '../../fixtures/turns.ts'

type Asked = { readonly entry: readonly { readonly request: { readonly url: string } }[] }

/** Returns a `post` that finds `Patient/X` by `Patient?name=X` after a delay. */
function answering(): { readonly post: Post; readonly asked: string[] } {
  const asked: string[] = []
  const post: Post = async (body) => {
    const { entry } = JSON.parse(body.toString()) as Asked
    const ids = entry.map(({ request }) => /name=([^&]+)/.exec(request.url)![1]!)
    asked.push(...ids)
    await waitTurns(1)
    const found = ids.map((id) => ({
      response: { status: '200 OK' },
      resource: { entry: [{ resource: { resourceType: 'Patient', id } }] },
    }))
    return { status: 200, headers: {}, body: Buffer.from(JSON.stringify({ entry: found })) }
  }
  return { post, asked }
}

const searches = (from: number, to: number): readonly string[] => Array.from({ length: to - from }, (_, i) => `Patient?name=${from + i}`)

describe('A reference lookup', () => {
  it('sends each search once', async () => {
    const { post, asked } = answering()
    const { meanings } = referenceLookup(post)
    const [first, second] = await Promise.all([meanings(searches(0, 3)), meanings(searches(2, 5))])
    expect([first!('Patient?name=2'), second!('Patient?name=2')]).toEqual([{ keys: ['Patient/2'] }, { keys: ['Patient/2'] }])
    expect(asked).toEqual(['0', '1', '2', '3', '4'])
  })

  it('answers all waiting callers even if its cache overflows meanwhile', async () => {
    const { meanings } = referenceLookup(answering().post)
    const [meaningOf] = await Promise.all([meanings(searches(0, 100_001)), meanings(searches(100_001, 100_002))])
    expect(meaningOf!('Patient?name=100000')).toEqual({ keys: ['Patient/100000'] })
  })
})
