/** Packages of definitions of a deployed server: in its bucket, with the credentials of who asks. */
import { openS3Packages } from '../../adapters/s3/open-blob-store.ts'
import type { PackageAdministration } from '../control/package-commands.ts'
import { type Deployment, openDeploymentAdministration } from './administration.ts'

/** `bucket`: its name. */
export function openDeployedPackages({ bucket, ...deployment }: Deployment & { readonly bucket: string }): PackageAdministration {
  const { audit, clock, close } = openDeploymentAdministration(deployment)
  const store = openS3Packages({ bucket, region: deployment.region, now: () => clock.now() })
  return { store, recording: { audit, clock }, close }
}
