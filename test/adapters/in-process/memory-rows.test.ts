/** The in-memory rows of the export tests fulfill the port. */
import { rowsContract } from '../../contracts/kept-rows.contract.ts'
import { MemoryRows } from '../../fixtures/memory/kept-rows.ts'

rowsContract('memory', async () => {
  const rows = new MemoryRows()
  return { open: async () => rows, written: () => rows.writes }
})
