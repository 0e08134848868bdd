/** Sends the record that shows whether a sink works. */
import type { Clock } from "../../ids.ts";
import type { SinkPlaces } from "../../sink.ts";
import { AllowedPlaces } from "./allowed.ts";
import { testMessage } from "./batch.ts";
import { type SinkConfig, SinkFailed } from "./config.ts";
import { receiverOf } from "./receivers.ts";

/** How long a test may take, ms. */
const TEST_MS = 10_000;

/** Sends a record to a sink. Returns why it was not delivered; null when it was. */
export async function sendTest(config: SinkConfig, { allow, directory }: SinkPlaces, clock: Clock) {
  using receiver = receiverOf(config, { allowed: new AllowedPlaces(allow), directory, clock });
  try {
    return await receiver.send(testMessage(config, clock()), AbortSignal.timeout(TEST_MS));
  } catch (error) {
    if (error instanceof SinkFailed) return error.message;
    throw error;
  }
}
