/** Every page of the dashboard, with the steps that prepare it for a check. */
import type { Page } from "playwright-core";
import type { Inhabited } from "./inhabit.ts";

export interface Place {
  name: string;
  path: string;
  act?: (page: Page) => Promise<void>;
}

export function places({ workspaceId, checkpointId, blockedEventId, readEventId, installationId }: Inhabited): Place[] {
  const room = `/workspaces/${workspaceId}`;
  const agent = `${room}/agents/support-bot`;
  return [
    { name: "workspaces", path: "/workspaces" },
    { name: "overview", path: room },
    { name: "agents", path: `${room}/agents` },
    { name: "agent-config", path: agent },
    { name: "agent-new", path: `${room}/agents/nobody-yet` },
    { name: "agent-suspend", path: agent, act: press("Suspend …") },
    { name: "agent-suspended", path: `${room}/agents/nightly-report` },
    { name: "agent-effective", path: `${room}/agents/research/effective` },
    { name: "versions", path: `${agent}/versions` },
    { name: "data", path: `${agent}/data` },
    { name: "data-entry", path: `${agent}/data?prefix=customers/&key=customers/42/note` },
    { name: "data-search", path: `${agent}/data?search=when+is+the+report+due` },
    { name: "data-write", path: `${agent}/data`, act: blockedWrite },
    { name: "data-delete", path: `${agent}/data?key=notes/1`, act: press("Delete …") },
    { name: "data-history", path: `${agent}/data/history?key=greeting` },
    { name: "data-revert", path: `${agent}/data/history?key=greeting`, act: press("Write again …") },
    { name: "checkpoints", path: `${agent}/checkpoints` },
    { name: "checkpoint", path: `${agent}/checkpoints/${checkpointId}` },
    { name: "checkpoint-restore", path: `${agent}/checkpoints/${checkpointId}`, act: press("Restore …") },
    { name: "compare", path: `${agent}/compare?from=${checkpointId}` },
    { name: "agents-chosen", path: `${room}/agents?sort=-blocked`, act: chosenAgents },
    { name: "audit", path: `${agent}/audit?show=changes` },
    { name: "audit-blocked", path: `${agent}/audit?result=blocked&event=${blockedEventId}` },
    { name: "event", path: `${room}/events/${blockedEventId}` },
    { name: "lineage", path: `${room}/events/${readEventId}/lineage?direction=effects` },
    { name: "events", path: `${room}/events?result=blocked&event=${blockedEventId}` },
    { name: "events-filtered", path: `${room}/events?agent_id=support-bot&mode=block&clock=utc` },
    { name: "policies", path: `${room}/policies` },
    { name: "policies-edited", path: `${room}/policies`, act: editedPolicies },
    { name: "policies-apply", path: `${room}/policies`, act: press("Apply …") },
    { name: "policies-preview", path: `${room}/policies`, act: previewedPolicies },
    { name: "policies-findings", path: `${room}/policies/findings` },
    { name: "policies-versions", path: `${room}/policies/versions` },
    { name: "proof", path: `${room}/proof`, act: verifyNow },
    { name: "trail", path: `${room}/trail` },
    { name: "palette", path: room, act: keyed("Control+k") },
    { name: "key-list", path: `${room}/agents`, act: keyed("?") },
    { name: "keys", path: `${room}/keys` },
    { name: "key-create", path: `${room}/keys`, act: press("New key") },
    { name: "members", path: `${room}/members` },
    { name: "invite", path: `${room}/members`, act: press("Invite …") },
    { name: "sinks", path: `${room}/sinks` },
    { name: "sink-create", path: `${room}/sinks`, act: press("New sink") },
    { name: "sink-change", path: `${room}/sinks`, act: press("Change siem.example.org:8443") },
    { name: "installation", path: `/workspaces/${installationId}/trail` },
    { name: "installation-proof", path: `/workspaces/${installationId}/proof` },
    { name: "settings", path: "/settings" },
    { name: "totp", path: "/settings", act: press("Turn on …") },
    { name: "nowhere", path: "/workspaces/none/of/yours" },
  ];
}

/** Looks at what would be deleted of two agents. */
async function chosenAgents(page: Page): Promise<void> {
  for (const agent of ["support-bot", "research"]) await page.getByLabel(`Choose ${agent}`).check();
  await press("Delete data …")(page);
  await page.getByLabel("Keys that begin with").fill("customers/");
  await page.getByRole("button", { name: "Preview" }).click();
  await page.getByText("has no such entry").waitFor();
}

/** Opens the dialog behind a key. */
function keyed(key: string) {
  return async (page: Page) => {
    await page.keyboard.press(key);
    await page.getByRole("dialog").waitFor();
  };
}

/** Opens the dialog behind a button. */
function press(name: string) {
  return async (page: Page) => {
    await page.getByRole("button", { name }).first().click();
    await page.getByRole("dialog").waitFor();
  };
}

async function blockedWrite(page: Page): Promise<void> {
  await page.getByRole("button", { name: "Write" }).click();
  await page.getByLabel("Key", { exact: true }).fill("customers/43/phone");
  await page.getByRole("textbox", { name: "Value" }).fill("Call Jane on +1 415 555 2671, or jane@example.com.");
  await page.getByRole("dialog").getByRole("button", { name: "Write" }).click();
  await page.getByText("Blocked by").waitFor();
}

/** Opens what is folded, changes something, tries a text under it, and replays it. */
async function editedPolicies(page: Page): Promise<void> {
  for (const name of ["Single detectors", "project_code", "@example.org"]) {
    await page.locator("summary", { hasText: name }).first().click();
  }
  await page.getByRole("button", { name: "Add a pattern" }).click();
  await page.getByRole("group", { name: "pattern 2" }).getByLabel("Name").fill("ticket");
  await page.getByRole("group", { name: "pattern 2" }).getByLabel("Regular expression").fill("TICKET-[0-9]+");
  await page
    .getByLabel("Text", { exact: true })
    .last()
    .fill("TICKET-7: mail to joe@example.com, pay to DE89 3704 0044 0532 0130 00.");
  await page.getByRole("button", { name: "Check" }).click();
  await page.getByText("Blocked by").waitFor();
  await page.getByRole("button", { name: "Replay", exact: true }).click();
  await page.getByText("Would be redacted").waitFor();
}

async function previewedPolicies(page: Page): Promise<void> {
  await press("Apply …")(page);
  await page.getByLabel("All shown").check();
  await page.getByRole("button", { name: /^Preview for/ }).click();
  await page.locator("dialog summary", { hasText: "research" }).click();
}

async function verifyNow(page: Page): Promise<void> {
  await page.getByRole("button", { name: "Verify the whole workspace" }).click();
  await page.getByText("Everything holds.").waitFor();
}
