/** On schedules of the stage's settings: begins exports with the rights of registered clients. */
import { startScheduledExport } from '../../runtime/aws/export-schedule.ts'

export const handler = startScheduledExport
