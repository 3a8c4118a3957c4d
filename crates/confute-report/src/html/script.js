"use strict";
// Shows the bytes of a message selected by a click, by the keyboard, or by the address (#v1-m3). They are
// only ever set as text.
(() => {
  const element = (name, text, kind) => {
    const made = document.createElement(name);
    if (text !== undefined) made.textContent = text;
    if (kind) made.className = kind;
    return made;
  };
  const bytesOf = (hex) => (hex.match(/../g) || []).map((digits) => parseInt(digits, 16));
  const known = { 9: "\\t", 10: "\\n\n", 13: "\\r", 92: "\\\\" };
  const two = (number) => number.toString(16).padStart(2, "0");
  const asText = (bytes) =>
    bytes
      .map((byte) => known[byte] || (byte >= 32 && byte < 127 ? String.fromCharCode(byte) : "\\x" + two(byte)))
      .join("");
  const asHex = (bytes) => {
    const lines = [];
    for (let at = 0; at < bytes.length; at += 16) {
      const part = bytes.slice(at, at + 16);
      const shown = part.map((byte) => (byte >= 32 && byte < 127 ? String.fromCharCode(byte) : ".")).join("");
      lines.push(at.toString(16).padStart(6, "0") + "  " + part.map(two).join(" ").padEnd(47) + "  " + shown);
    }
    return lines.join("\n");
  };
  const folded = (title, text) => {
    const details = element("details");
    details.append(element("summary", title), element("pre", text));
    return details;
  };
  const dataOf = {};
  const messageOf = (violation, number) => {
    const data = document.getElementById(violation + "-data");
    if (!data) return undefined;
    dataOf[violation] ||= JSON.parse(data.textContent);
    return dataOf[violation].find((message) => message.number === number);
  };
  const close = (panel) => {
    panel.hidden = true;
    panel.replaceChildren();
    panel.parentElement.querySelectorAll(".chosen").forEach((one) => one.classList.remove("chosen"));
  };
  const remarks = (message) => {
    if (message.hex === null) return "The bytes are no longer kept; this is the message as it was understood.";
    const shown = message.hex.length / 2;
    const all = message.way === "sent" ? "written until the next message" : "read since the message before";
    const cut = shown < message.whole ? ", of which the first " + shown + " are shown" : "";
    const shared = message.shared ? "; other messages are in the same piece" : "";
    return message.whole + " bytes " + all + " on " + message.lane + cut + shared + ".";
  };
  const show = (violation, number) => {
    const panel = document.getElementById(violation + "-panel");
    const message = messageOf(violation, number);
    if (!panel || !message) return;
    close(panel);
    const section = panel.parentElement;
    document.getElementById(violation + "-m" + number).classList.add("chosen");
    section.querySelectorAll(".span").forEach((bar) => {
      bar.classList.toggle("chosen", bar.dataset.of.split(" ").includes(String(number)));
    });
    const buttons = element("div", undefined, "buttons");
    const end = element("button", "Close");
    end.addEventListener("click", () => close(panel));
    const time = message.time ? " at " + message.time : "";
    const title = element("h4", "Message " + number + ", " + message.lane + " " + message.way + time);
    panel.append(buttons, title, element("p", remarks(message)));
    if (message.hex !== null) {
      const bytes = bytesOf(message.hex);
      const shown = element("pre", asText(bytes), "bytes");
      const hex = element("button", "Hex");
      hex.setAttribute("aria-pressed", "false");
      hex.addEventListener("click", () => {
        const on = hex.getAttribute("aria-pressed") === "false";
        hex.setAttribute("aria-pressed", String(on));
        shown.textContent = on ? asHex(bytes) : asText(bytes);
        shown.className = on ? "bytes hex" : "bytes";
      });
      buttons.append(hex);
      panel.append(shown, folded("As it was understood", message.text));
    } else {
      panel.append(element("pre", message.text, "understood"));
    }
    if (message.json !== null) panel.append(folded("As JSON", message.json));
    buttons.append(end);
    panel.hidden = false;
  };
  const follow = () => {
    const parts = /^#(v\d+)-m(\d+)$/.exec(location.hash);
    if (parts) show(parts[1], Number(parts[2]));
  };
  document.querySelectorAll(".scroll").forEach((box) => {
    const fatal = box.querySelector(".diagram .fatal");
    if (fatal) box.scrollTop = box.scrollHeight;
  });
  document.addEventListener("click", (event) => {
    const link = event.target.closest && event.target.closest("a.message");
    if (!link) return;
    event.preventDefault();
    const [violation, number] = link.id.split("-m");
    history.replaceState(null, "", "#" + link.id);
    show(violation, Number(number));
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") document.querySelectorAll(".panel:not([hidden])").forEach(close);
  });
  addEventListener("hashchange", follow);
  follow();
})();
