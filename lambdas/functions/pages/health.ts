/** `GET /health`: whether the server can do its work. It is open to every caller. */
import { healthHandler } from '../../runtime/aws/health.ts'

export const handler = healthHandler()
