/** Explorer: its pages and their files. The function reads no data, so it needs no permissions. */
import { bundleExplorer } from '../../explorer/bundle.ts'
import { explorerHandler } from '../../runtime/aws/explorer-handler.ts'

export const handler = explorerHandler(bundleExplorer)
