/** Stored Groups of partners, read without the persons that they contain. */
import { expect, it } from '@jest/globals'
import { storedGroupOf } from '../../../lambdas/partners/groups/stored-group.ts'

it('is the Group without its contained resources, read in parts', async () => {
  const group = {
    resourceType: 'Group',
    extension: [{ url: 'http://example.org/contained', valueString: '"contained":[' }],
    contained: Array.from({ length: 5_000 }, (_, i) => ({
      resourceType: 'Patient',
      id: `p-${i}`,
      contained: [],
      name: [{ text: ']},{"' }],
    })),
    characteristic: [{ period: { end: '2026-02-15' } }],
    member: [{ entity: { reference: 'Patient/ann' } }],
  }
  let pauses = 0
  const read = await storedGroupOf(Buffer.from(JSON.stringify(group)), async () => void pauses++)
  expect(read).toEqual({ ...group, contained: [] })
  expect(pauses).toBeGreaterThan(3)
})
