import { describe, expect, it } from '@jest/globals'
import { type CallMessage, ThreadCalls } from '../../../lambdas/adapters/in-process/thread-calls.ts'

/** Two sides; what one posts the other gets a little later, as a copy. */
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
  it('go both ways, also one within another', async () => {
    const [, there] = pair()
    expect(await Promise.all([there.call('twice', 'a'), there.call('twice', 'b')])).toEqual(['a!', 'b!'])
  })

  it('tell what fails, also what nobody knows', async () => {
    const [here] = pair()
    await expect(here.call('fail')).rejects.toMatchObject({ name: 'RangeError', message: 'no' })
    await expect(here.call('unheard')).rejects.toMatchObject({ name: 'TypeError' })
  })

  it('end with the other side', async () => {
    const [here] = pair()
    const waiting = here.call('never')
    here.end(new Error('gone'))
    await expect(waiting).rejects.toThrow('gone')
  })
})
