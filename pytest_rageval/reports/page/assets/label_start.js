// The page of a sheet comes to life.

chooseLanguage(preferredLanguage(navigator.languages ?? [navigator.language]));
openLabels(JSON.parse(document.getElementById("data").textContent), ANSWERS, "auto");
