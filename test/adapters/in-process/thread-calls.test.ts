import { describe, expect, it } from '@jest/globals'
import { type CallMessage, ThreadCalls } from '../../../lambdas/adapters/in-process/thread-calls.ts'

/** Two sides. Each receives a copy of a posted message a little later. */
function pair() {
  const sides: ThreadCalls[] = []
  const to = (other: number) => (message: CallMessage) => setImmediate(() => sides[other]!.receive(structuredClone(message)))
  sides.push(
    new ThreadCalls(to(1), { twice: async (text: string): Promise<string> => `${text}${await sides[0]!.call('end')}` }),
    new ThreadCalls(to(0), {
      end: () => '!',
      fail: () => Promise.reject(new RangeError('no')),
      never: () => new Promise(() => undefined),
    }),
  )
  return sides as [ThreadCalls, ThreadCalls]
}

describe('Calls between two threads', () => {
  it('go both ways, also nested', async () => {
    const [, there] = pair()
    expect(await Promise.all([there.call('twice', 'a'), there.call('twice', 'b')])).toEqual(['a!', 'b!'])
  })

  it('report a failed call and an unknown procedure', async () => {
    const [here] = pair()
    await expect(here.call('fail')).rejects.toMatchObject({ name: 'RangeError', message: 'no' })
    await expect(here.call('unheard')).rejects.toMatchObject({ name: 'TypeError' })
  })

  it('fail when the other side ends', async () => {
    const [here] = pair()
    const waiting = here.call('never')
    here.end(new Error('gone'))
    await expect(waiting).rejects.toThrow('gone')
  })
})
