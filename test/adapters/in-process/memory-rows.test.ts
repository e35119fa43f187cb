/** The rows tests of the export keep in memory keep what the port promises. */
import { keptRowsContract } from '../../contracts/kept-rows.contract.ts'
import { MemoryKeptRows } from '../../fixtures/memory/kept-rows.ts'

keptRowsContract('memory', async () => {
  const rows = new MemoryKeptRows()
  return { open: async () => rows, written: () => rows.writes }
})
