/** Bodies that wait for their compression are held whole: their bytes have a limit. */
import { expect, it } from '@jest/globals'
import { Compressor } from '../../lambdas/http/response-compression.ts'

const SIZE = 1_000_000
const bytes = new Uint8Array(SIZE).fill(32)

it('bodies are compressed up to the limit, and again once earlier ones are done', async () => {
  const compressor = new Compressor(2 * SIZE)
  const isCompressed = async (): Promise<boolean> => (await compressor.compress([bytes])) !== undefined
  expect(await Promise.all([isCompressed(), isCompressed(), isCompressed()])).toEqual([true, true, false])
  expect(await isCompressed()).toBe(true)
})

it('a single body is compressed, however large', async () => {
  expect(await new Compressor(1_000).compress([bytes])).toBeDefined()
})
